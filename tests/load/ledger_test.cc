#include "tests/load/ledger.h"

#include <gtest/gtest.h>

namespace longshore::load {
namespace {

constexpr TimePoint At(int64_t ms) { return TimePoint{std::chrono::milliseconds(ms)}; }

Reply From(int64_t version, const std::string& node = "n0") {
  Reply reply;
  reply.version = version;
  reply.node = node;
  return reply;
}

TEST(Ledger, CountsEachAnswerUnderItsVersionNodeAndKind) {
  Ledger ledger(At(0), 10);
  ledger.Sent(1, std::nullopt, At(1));
  ledger.Sent(2, KeyIndex{3}, At(2));
  ledger.Answered(1, From(1, "a"), At(3));
  ledger.Answered(2, From(2, "b"), At(4));
  const Counts total = ledger.Total();
  EXPECT_EQ(total.answered, 2);
  EXPECT_EQ(total.versions.at(1).unkeyed, 1);
  EXPECT_EQ(total.versions.at(2).keyed, 1);
  EXPECT_EQ(total.nodes.at("a"), 1);
  EXPECT_EQ(ledger.distinct_keys(), 1u);
  EXPECT_EQ(ledger.in_flight(), 0u);
}

TEST(Ledger, ASecondAnswerIsCountedAndChangesNothingElse) {
  Ledger ledger(At(0), 1);
  ledger.Sent(1, std::nullopt, At(1));
  ledger.Answered(1, From(1), At(2));
  ledger.Answered(1, From(2), At(3));
  EXPECT_EQ(ledger.Total().answered, 1);
  EXPECT_EQ(ledger.Total().answered_twice, 1);
  EXPECT_FALSE(ledger.Total().versions.contains(2));
}

TEST(Ledger, ASegmentIsReportedOnceAllRequestsSentInItAreAnswered) {
  Ledger ledger(At(0), 1);
  ledger.Sent(1, std::nullopt, At(1));
  ASSERT_TRUE(ledger.Mark("second", At(2)));
  EXPECT_TRUE(ledger.TakeFinished().empty());
  ledger.Answered(1, From(1), At(5));
  const auto finished = ledger.TakeFinished();
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0].name, "start");
  EXPECT_EQ(finished[0].counts.answered, 1);
  EXPECT_EQ(finished[0].ended_at, At(2));
  EXPECT_TRUE(ledger.TakeFinished().empty());
}

TEST(Ledger, AKeyThatChangesItsVersionIsAMove) {
  Ledger ledger(At(0), 5);
  ledger.Sent(1, KeyIndex{4}, At(1));
  ledger.Answered(1, From(1), At(2));
  ledger.Sent(2, KeyIndex{4}, At(3));
  ledger.Answered(2, From(2), At(4));
  const auto moves = ledger.TakeMoves();
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].key, 4u);
  EXPECT_EQ(moves[0].from, 1);
  EXPECT_EQ(moves[0].to, 2);
  EXPECT_TRUE(ledger.TakeMoves().empty());
}

TEST(Ledger, OverlappingRequestsOfOneKeyAreNoMove) {
  Ledger ledger(At(0), 5);
  ledger.Sent(1, KeyIndex{0}, At(1));
  ledger.Sent(2, KeyIndex{0}, At(2));
  ledger.Answered(2, From(2), At(3));
  ledger.Answered(1, From(1), At(4));
  EXPECT_TRUE(ledger.TakeMoves().empty());
}

TEST(Ledger, FailuresAreCountedByCodeAndTextAndNotAsAnswers) {
  Ledger ledger(At(0), 1);
  ledger.Sent(1, std::nullopt, At(1));
  Reply reply;
  reply.code = Code::kUnavailable;
  reply.message = "Socket closed";
  ledger.Answered(1, reply, At(2));
  EXPECT_EQ(ledger.Total().failed, 1);
  EXPECT_EQ(ledger.Total().answered, 0);
  EXPECT_EQ(ledger.Total().failures.at("UNAVAILABLE: Socket closed"), 1);
}

TEST(Ledger, FailuresWithOneCodeAreCountedTogetherWithTheFirstMessage) {
  Ledger ledger(At(0), 1);
  for (RequestId id : {1, 2, 3}) ledger.Sent(id, std::nullopt, At(1));
  Reply reply;
  reply.code = Code::kUnavailable;
  for (const char* message : {"Socket closed", "no route"}) {
    reply.message = message;
    ledger.Answered(reply.message == "no route" ? 2 : 1, reply, At(2));
  }
  ledger.Answered(3, From(1), At(2));
  const Json json = ToJson(ledger.Total());
  EXPECT_EQ(json.at("errors"), Json::parse(R"({"UNAVAILABLE": {"count": 2, "first": "Socket closed"}})"));
}

TEST(Ledger, NonFiniteAnswersKeepTheTimeOfTheFirst) {
  Ledger ledger(At(0), 1);
  Reply reply = From(4);
  reply.non_finite = true;
  for (RequestId id : {1, 2}) {
    ledger.Sent(id, std::nullopt, At(10));
    ledger.Answered(id, reply, At(20 + static_cast<int64_t>(id)));
  }
  EXPECT_EQ(ledger.Total().versions.at(4).first_non_finite, At(21));
  EXPECT_EQ(ledger.Total().versions.at(4).last_answer, At(22));
  EXPECT_EQ(ledger.Total().versions.at(4).non_finite, 2);
}

TEST(Counts, NameTheLongestAnswerOfASegmentAndNotThatOfAFailure) {
  Ledger ledger(At(0), 1);
  Reply failure;
  failure.code = Code::kUnavailable;
  for (RequestId id : {1, 2, 3}) ledger.Sent(id, std::nullopt, At(0));
  ledger.Answered(1, From(1), At(7));
  ledger.Answered(2, From(1), At(250));
  ledger.Answered(3, failure, At(9000));
  EXPECT_EQ(ToJson(ledger.Total())["max_ms"], 250);
}

}  // namespace
}  // namespace longshore::load
