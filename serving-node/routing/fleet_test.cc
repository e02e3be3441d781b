// Two nodes of one fleet, over real gRPC: which node runs a request, and what happens if the other node cannot run it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "longshore/peer.grpc.pb.h"
#include "serving-node/routing/hop.h"
#include "serving-node/routing/testing.h"

namespace longshore::routing {
namespace {

using testing::HasSubstr;
using testing::Not;

class FleetTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef LONGSHORE_SANITIZER_THREAD
    // gRPC passes every call to another thread inside a library that Debian does not build with the thread sanitizer.
    // The sanitizer does not see the synchronization in that library and reports races that do not exist.
    GTEST_SKIP() << "gRPC is not built with the thread sanitizer";
#endif
    a_.Listen();
    b_.Listen();
  }
  // Sets the state of both nodes. `held_by_a` and `held_by_b` are the versions that nodes a and b hold, one digit for
  // each version.
  void SetStates(const std::string& held_by_a, const std::string& held_by_b, const std::string& models) {
    const std::string peers =
        fmt::format(R"(fleet {{ peers {{ node: "a" address: "{}" }} peers {{ node: "b" address: "{}" }} }} )",
                    a_.address, b_.address);
    for (TestNode* node : {&a_, &b_}) node->SetState(peers + models, {}, {{"a", held_by_a}, {"b", held_by_b}});
  }
  static std::string Models(int candidate, int candidate_bp, const std::string& guard = "") {
    return fmt::format(R"(models {{ served_name: "digits" assignment {{ salt: "s" }}
                          versions {{ version: 1 weight_bp: {} role: STABLE }}
                          versions {{ version: {} weight_bp: {} role: CANDIDATE guard {{ {} }} }} }})",
                       10000 - candidate_bp, candidate, candidate_bp, guard);
  }
  PredictCall Hop(int64_t version, const std::string& fleet, bool pinned = false) {
    auto call = WithHeader(DigitsCall(0), kHopHeader, "1");
    call.protocol = Protocol::kPeer;
    if (pinned) call = WithHeader(std::move(call), kHopPinnedHeader, "1");
    return WithHeader(WithHeader(std::move(call), kHopVersionHeader, std::to_string(version)), kHopFleetHeader, fleet);
  }

  TestDir dir_;
  TestNode a_{dir_.path(), "a", 1, {.node = "", .queue_delay_max = std::chrono::milliseconds(0)}};
  TestNode b_{dir_.path(), "b"};
};

TEST_F(FleetTest, ForwardsToThePeerThatHoldsTheVersion) {
  a_.Hold({1});
  b_.Hold({1, 2});
  SetStates("1", "12", Models(2, 10000));
  const auto answer = Ask(a_.router, DigitsCall(5));
  ASSERT_TRUE(answer) << ToString(answer.error());
  EXPECT_EQ(RanBy(*answer, 5), 2);
  EXPECT_EQ(answer->model_spec.version().value(), 2);
  EXPECT_EQ(a_.recorder.Snapshot("digits", 2).requests(), 0);
  EXPECT_EQ(b_.recorder.Snapshot("digits", 2).requests(), 1);
  control::NodeLoad load_a, load_b;
  a_.recorder.AddTo(&load_a);
  b_.recorder.AddTo(&load_b);
  EXPECT_EQ(load_a.forwarded(), 1);
  EXPECT_THAT(a_.metrics.Text(), HasSubstr(R"(longshore_forwarded_total{model="digits",version="2"} 1)"));
  EXPECT_EQ(load_b.received(), 0) << "requests of peers do not count as received";
}

// The bucket of the key "alice" with the salt "uid/4/1", by docs/assignment.md.
constexpr int kBinOfAlice = 5389 / 50;

std::string KeyedModels(const std::string& salt, const std::string& by = "HEADER") {
  return fmt::format(R"(models {{ served_name: "digits" assignment {{ by: {} key: "x-user" salt: "{}" }}
                        versions {{ version: 1 role: STABLE }}
                        versions {{ version: 4 weight_bp: 10000 role: CANDIDATE }} }})",
                     by, salt);
}

TEST_F(FleetTest, CountsTheBinOfAKeyOnTheNodeThatRanTheRequest) {
  a_.Hold({1});
  b_.Hold({1, 4});
  SetStates("1", "14", KeyedModels("uid/4/1"));
  ASSERT_TRUE(Ask(a_.router, WithHeader(DigitsCall(0), "x-user", "alice")));
  ASSERT_FALSE(Ask(a_.router, WithHeader(DigitsCall(kFailHere), "x-user", "alice")));
  ASSERT_TRUE(Ask(a_.router, DigitsCall(0))) << "without a key, so in no bin";
  ASSERT_TRUE(Ask(a_.router, Pinned(WithHeader(DigitsCall(0), "x-user", "alice"), 4))) << "not evidence";
  EXPECT_EQ(a_.recorder.Snapshot("digits", 4).bins().requests_size(), 0);
  const control::BinEvidence bins = b_.recorder.Snapshot("digits", 4).bins();
  EXPECT_EQ(bins.salt(), "uid/4/1");
  ASSERT_EQ(bins.requests_size(), kBinOfAlice + 1);
  EXPECT_EQ(bins.requests(kBinOfAlice), 2);
  EXPECT_EQ(bins.bad(kBinOfAlice), 1);
}

TEST_F(FleetTest, CountsNoBinIfThePeerHasTheSaltOfAnotherRollout) {
  a_.Hold({1});
  b_.Hold({1, 4});
  SetStates("1", "14", KeyedModels("uid/4/1"));
  b_.SetState(KeyedModels("uid/4/2"));
  ASSERT_TRUE(Ask(a_.router, WithHeader(DigitsCall(0), "x-user", "alice")));
  EXPECT_EQ(b_.recorder.Snapshot("digits", 4).requests(), 1);
  EXPECT_EQ(b_.recorder.Snapshot("digits", 4).bins().requests_size(), 0);
}

TEST_F(FleetTest, CountsARefusedRequestInItsBin) {
  a_.Hold({1});
  b_.Hold({4}, {.queue_max = 0});
  SetStates("1", "4", KeyedModels("uid/4/1"));
  ASSERT_FALSE(Ask(a_.router, WithHeader(DigitsCall(0), "x-user", "alice")));
  const control::Evidence evidence = b_.recorder.Snapshot("digits", 4);
  EXPECT_EQ(evidence.overloaded(), 1);
  EXPECT_EQ(evidence.bins().bad(kBinOfAlice), 1);
}

TEST_F(FleetTest, CountsNoBinsWithoutKeysOrWithoutACandidate) {
  a_.Hold({1});
  SetStates("1", "1", KeyedModels("uid/4/1", "REQUEST"));
  EXPECT_FALSE(a_.recorder.Snapshot("digits", 1).has_bins());
  SetStates("1", "1", KeyedModels("uid/4/1"));
  EXPECT_TRUE(a_.recorder.Snapshot("digits", 1).has_bins());
  a_.SetState(R"(models { served_name: "digits" assignment { by: HEADER key: "x-user" salt: "uid/4/1" }
                 versions { version: 4 weight_bp: 10000 role: STABLE } })");
  EXPECT_FALSE(a_.recorder.Snapshot("digits", 4).has_bins());
}

TEST_F(FleetTest, ReturnsThePeersErrorUnchanged) {
  a_.Hold({1});
  b_.Hold({1, 2});
  SetStates("1", "12", Models(2, 10000));
  auto call = DigitsCall(0);
  call.request.mutable_model_spec()->set_signature_name("none");
  const auto answer = Ask(a_.router, call);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error(), (Error{Code::kFailedPrecondition, "Serving signature key \"none\" not found."}));
}

TEST_F(FleetTest, NeverForwardsTwice) {
  a_.Hold({1});
  b_.Hold({1, 2});
  SetStates("1", "12", Models(2, 10000));
  const auto answer = Ask(a_.router, Hop(2, "ns/f"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kNotFound);
  EXPECT_EQ(b_.recorder.Snapshot("digits", 2).requests(), 0);
}

TEST_F(FleetTest, RefusesRequestsOfAnotherFleet) {
  a_.Hold({1});
  SetStates("1", "", Models(2, 0));
  const auto answer = Ask(a_.router, Hop(1, "ns/other"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kNotFound);
  EXPECT_TRUE(Ask(a_.router, Hop(1, "ns/f")));
  auto without = DigitsCall(0);
  without.protocol = Protocol::kPeer;
  EXPECT_FALSE(Ask(a_.router, without));
}

TEST_F(FleetTest, GivesStableWhenThePeerLostTheCandidate) {
  a_.Hold({1});
  b_.Hold({1});
  SetStates("1", "12", Models(2, 10000));
  EXPECT_EQ(RanBy(*Ask(a_.router, DigitsCall(0))), 1);
  EXPECT_FALSE(Ask(a_.router, Pinned(DigitsCall(0), 2)));
}

TEST_F(FleetTest, GivesStableWhenThePeerDied) {
  a_.Hold({1});
  SetStates("1", "12", Models(2, 10000));
  b_.listener.reset();
  const auto answer = Ask(a_.router, DigitsCall(0));
  ASSERT_TRUE(answer) << ToString(answer.error());
  EXPECT_EQ(RanBy(*answer), 1);
  const auto pinned = Ask(a_.router, Pinned(DigitsCall(0), 2));
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.error().code, Code::kUnavailable);
}

TEST_F(FleetTest, GivesStableWhileThePeerHasNoStateYet) {
  a_.Hold({1});
  b_.Hold({2});
  const std::string peer = fmt::format(R"(fleet {{ peers {{ node: "b" address: "{}" }} }} )", b_.address);
  a_.SetState(peer + Models(2, 10000), {}, {{"b", "2"}});
  const auto answer = Ask(a_.router, DigitsCall(0));
  ASSERT_TRUE(answer) << ToString(answer.error());
  EXPECT_EQ(RanBy(*answer), 1);
}

TEST_F(FleetTest, ReturnsTheErrorOfAPeerWhoseQueueIsFull) {
  a_.Hold({1});
  b_.Hold({2}, {.queue_max = 0});
  SetStates("1", "2", Models(2, 10000));
  for (int i = 0; i < 2; ++i) {
    const auto answer = Ask(a_.router, DigitsCall(0));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::kUnavailable);
    EXPECT_EQ(answer.error().message.find("The batch scheduling queue"), 0u) << answer.error().message;
  }
}

TEST_F(FleetTest, RetriesARequestWhoseConnectionBrokeAtOneOtherNodeAtMost) {
  // Neither peer has a listener, so both connections break. Node a holds stable, but must not run a request that may
  // have crashed two nodes.
  a_.Hold({1});
  a_.SetState(
      R"(fleet { peers { node: "b" address: "unix:/nowhere/b" } peers { node: "c" address: "unix:/nowhere/c" } })" +
          Models(2, 10000),
      {}, {{"b", "2"}, {"c", "2"}});
  const auto answer = Ask(a_.router, DigitsCall(0));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  control::NodeLoad load;
  a_.recorder.AddTo(&load);
  EXPECT_EQ(load.forwarded(), 2);
}

TEST_F(FleetTest, UsesStableIfTheGuardOfThePeerTripped) {
  a_.Hold({1});
  b_.Hold({1, 4});
  SetStates("1", "14", Models(4, 10000, "non_finite: true"));
  const auto revealing = Ask(a_.router, DigitsCall(kNanHere));
  ASSERT_TRUE(revealing) << ToString(revealing.error());
  EXPECT_EQ(RanBy(*revealing, kNanHere), 1);
  EXPECT_EQ(revealing->model_spec.version().value(), 1) << "b ran version 4 and returned stable's answer";
  EXPECT_EQ(b_.guards->Trips().size(), 1u);
  EXPECT_EQ(RanBy(*Ask(a_.router, DigitsCall(0))), 1) << "b refuses, and a, whose guard has not tripped, uses stable";
  EXPECT_EQ(RanBy(*Ask(a_.router, Pinned(DigitsCall(0), 4))), 4);
}

TEST_F(FleetTest, ComparesWithStableAtAPeerIfThisNodeDoesNotHoldIt) {
  a_.Hold({4});
  b_.Hold({1});
  SetStates("4", "1", Models(4, 10000, "non_finite: true"));
  ASSERT_TRUE(Ask(a_.router, DigitsCall(kNanEverywhere)));
  EXPECT_TRUE(a_.guards->Trips().empty());
  const auto revealing = Ask(a_.router, DigitsCall(kNanHere));
  ASSERT_TRUE(revealing) << ToString(revealing.error());
  EXPECT_EQ(RanBy(*revealing, kNanHere), 1);
  EXPECT_EQ(revealing->model_spec.version().value(), 1);
  EXPECT_EQ(a_.guards->Trips().size(), 1u);
  EXPECT_EQ(b_.recorder.Snapshot("digits", 1).requests(), 0)
      << "the comparison run does not count as evidence about stable";
}

TEST_F(FleetTest, RunsARequestThatBothVersionsRefuseOnlyTwice) {
  a_.Hold({1, 4});
  b_.Hold({1});
  SetStates("14", "1", Models(4, 10000, "error_rate_max: 0.5 errors_min_requests: 1"));
  const auto answer = Ask(a_.router, DigitsCall(kUnknownEverywhere));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error(), (Error{Code::kNotFound, "no such row"}));
  EXPECT_EQ(a_.engine.record().runs.size(), 2u);
  EXPECT_TRUE(b_.engine.record().runs.empty());
  EXPECT_EQ(a_.recorder.Snapshot("digits", 4).errors(), 0);
}

TEST_F(FleetTest, SpillsToAPeerWithLessLoad) {
  a_.Hold({1});
  b_.Hold({1});
  SetStates("1", "1", Models(2, 0));
  ASSERT_TRUE(Ask(a_.router, DigitsCall(0)));
  a_.engine.record().Set(&models::FakeRecord::holding, true);
  std::vector<std::future<Result<PredictAnswer>>> held;
  // One request occupies the only slot; the others wait, which makes node a ask node b for its load.
  for (int i = 0; i < 4; ++i) held.push_back(Begin(a_.router, DigitsCall(0)));
  while (!a_.forwarder->LoadOf(b_.address)) a_.forwarder->Watch({b_.address});
  const auto spilled = Ask(a_.router, DigitsCall(0));
  EXPECT_TRUE(spilled) << ToString(spilled.error());
  EXPECT_GE(b_.recorder.Snapshot("digits", 1).requests(), 1);
  EXPECT_THAT(a_.metrics.Text(), Not(HasSubstr("longshore_spilled_total 0\n")));
  a_.engine.record().Set(&models::FakeRecord::holding, false);
  for (auto& answer : held) EXPECT_TRUE(answer.get());
}

TEST_F(FleetTest, ReportsItsLoadOnlyToItsFleet) {
  auto stub = peer::Peer::NewStub(::grpc::CreateChannel(b_.address, ::grpc::InsecureChannelCredentials()));
  const auto ask = [&stub](const std::string& fleet, peer::LoadReply* reply) {
    ::grpc::ClientContext context;
    peer::LoadRequest request;
    request.set_fleet(fleet);
    return stub->GetLoad(&context, request, reply);
  };
  peer::LoadReply reply;
  ASSERT_TRUE(ask("ns/f", &reply).ok());
  EXPECT_EQ(reply.concurrent_runs_max(), 4);
  const auto refused = ask("ns/g", &reply);
  EXPECT_EQ(refused.error_code(), ::grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("ns/g"));
}

}  // namespace
}  // namespace longshore::routing
