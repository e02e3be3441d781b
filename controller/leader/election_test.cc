#include "controller/leader/election.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace longshore::leader {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kDuration = seconds(15);
constexpr Duration kDeadline = seconds(10);

class ElectionTest : public ::testing::Test {
 protected:
  Lease Held(const std::string& holder, int64_t epoch, const std::string& version) {
    return {.holder = holder, .duration = kDuration, .transitions = epoch, .version = version};
  }
  // Does what it says, as a server that answers would, and says what it was: "read", "create", "write over V", "wait".
  std::string Step() {
    const Move move = election_.Next(now_, floor_);
    if (std::holds_alternative<WaitUntil>(move)) return "wait";
    if (std::holds_alternative<Read>(move)) {
      election_.OnRead(server_, now_);
      return "read";
    }
    const Write& write = std::get<Write>(move);
    const std::string there = server_ ? server_->version : "";
    if (write.over == there) {
      server_ = write.lease;
      server_->version = std::to_string(++versions_);
      election_.OnWritten(*server_, now_, now_);
    } else {
      election_.OnConflict(now_);
    }
    return write.over.empty() ? "create" : "write over " + write.over;
  }
  void After(Duration passed) { now_ += passed; }
  void Lead() {
    server_ = Held("", 6, "0");
    Step();
    Step();
    ASSERT_TRUE(election_.IsLeading(now_));
  }

  MonotonicPoint now_{seconds(1000)};
  int64_t floor_ = 0;
  int versions_ = 0;
  std::optional<Lease> server_;
  Election election_{{.identity = "me"}, now_};
};

TEST_F(ElectionTest, TakesALeaseThatNobodyHoldsAtOnceWithAnEpochAboveAllThatIsKnown) {
  server_ = Held("", 6, "x");
  floor_ = 6;
  EXPECT_EQ(Step(), "read");
  EXPECT_FALSE(election_.IsLeading(now_));
  EXPECT_EQ(Step(), "write over x");
  EXPECT_TRUE(election_.IsLeading(now_));
  EXPECT_EQ(election_.epoch(), 7);
  EXPECT_EQ(Step(), "wait");
}

TEST_F(ElectionTest, ALeaseOfAnEpochThatIsLongOverHasBeenPutBackAndTellsNotWhoLeads) {
  server_ = Held("", 6, "x");
  floor_ = 9;
  EXPECT_EQ(Step(), "read");
  EXPECT_EQ(Step(), "wait");
  After(kDuration);
  EXPECT_EQ(Step(), "write over x");
  EXPECT_EQ(election_.epoch(), 10);
}

TEST_F(ElectionTest, TakesALeaseOnlyWhenItHasNotChangedForItsDuration) {
  server_ = Held("other", 6, "x");
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(Step(), "read");
    EXPECT_EQ(Step(), "wait");
    After(seconds(2));
  }
  server_->version = "y";  // Renewed.
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(Step(), "read") << i;
    EXPECT_EQ(Step(), "wait");
    After(seconds(2));
  }
  EXPECT_EQ(Step(), "write over y");
  EXPECT_EQ(election_.epoch(), 7);
}

TEST_F(ElectionTest, CreatesAMissingLeaseOnlyAfterADurationInWhichAHolderMayStillLead) {
  floor_ = 3;
  for (Duration waited{0}; waited < kDuration; waited += seconds(1)) {
    EXPECT_NE(Step(), "create");
    After(seconds(1));
  }
  EXPECT_EQ(Step(), "create");
  EXPECT_EQ(election_.epoch(), 4);
}

TEST_F(ElectionTest, RenewsItAndLeadsUntilTheDeadlineAfterItsLastRenewal) {
  Lead();
  After(seconds(2));
  EXPECT_EQ(Step(), "write over 1");
  EXPECT_EQ(election_.epoch(), 7) << "the same term";
  const MonotonicPoint renewed = now_;
  while (now_ < renewed + kDeadline) {
    EXPECT_TRUE(election_.IsLeading(now_));
    election_.OnWriteFailed(now_);
    After(seconds(1));
  }
  EXPECT_FALSE(election_.IsLeading(now_)) << "by the clock alone: nothing was told";
}

TEST_F(ElectionTest, ARenewalWhoseAnswerWasLostEndsNoTerm) {
  Lead();
  After(seconds(2));
  server_->version = "lost";  // It was carried out.
  election_.OnWriteFailed(now_);
  After(seconds(2));
  EXPECT_EQ(Step(), "write over 1");
  EXPECT_TRUE(election_.IsLeading(now_)) << "in doubt, but nobody else can have it yet";
  EXPECT_EQ(Step(), "read");
  EXPECT_EQ(Step(), "write over lost");
  EXPECT_EQ(election_.epoch(), 7);
  EXPECT_TRUE(election_.IsLeading(now_));
}

// It may have arrived late, under a holder that leads still.
TEST_F(ElectionTest, AnAcquisitionWhoseAnswerWasLostIsTakenAgainAfterADuration) {
  server_ = Held("", 6, "x");
  Step();
  server_ = Held("me", 7, "lost");
  election_.OnWriteFailed(now_);
  EXPECT_FALSE(election_.IsLeading(now_));
  After(seconds(2));
  EXPECT_EQ(Step(), "read");
  EXPECT_EQ(Step(), "wait");
  After(kDuration);
  EXPECT_EQ(Step(), "write over lost");
  EXPECT_EQ(election_.epoch(), 8);
}

TEST_F(ElectionTest, ALeaseThatIsDeletedOrPutBackUnderItsHolderIsWrittenAgainInTheSameTerm) {
  Lead();
  After(seconds(2));
  server_.reset();
  EXPECT_EQ(Step(), "write over 1");
  EXPECT_EQ(Step(), "read");
  EXPECT_EQ(Step(), "create");
  EXPECT_EQ(election_.epoch(), 7);
  After(seconds(2));
  server_ = Held("me", 2, "restored");
  Step();
  Step();
  EXPECT_EQ(Step(), "write over restored");
  EXPECT_EQ(server_->transitions, 7);
}

TEST_F(ElectionTest, WhoeverElseHoldsItEndsTheTerm) {
  Lead();
  After(seconds(2));
  server_ = Held("other", 8, "taken");
  EXPECT_EQ(Step(), "write over 1");
  EXPECT_EQ(Step(), "read");
  EXPECT_FALSE(election_.IsLeading(now_));
  EXPECT_EQ(election_.holder(), "other");
}

TEST_F(ElectionTest, BeginsAnotherTermWhenNodesTurnOutToHoldAHigherEpoch) {
  Lead();
  floor_ = 30;
  After(seconds(2));
  Step();
  EXPECT_EQ(election_.epoch(), 31);
}

TEST_F(ElectionTest, GivesUpWhatItHoldsSoThatTheNextNeedNotWait) {
  EXPECT_FALSE(election_.Release());
  Lead();
  const auto write = election_.Release();
  ASSERT_TRUE(write);
  EXPECT_EQ(write->lease.holder, "");
  EXPECT_EQ(write->lease.transitions, 7);
  EXPECT_FALSE(election_.IsLeading(now_));
}

TEST(ElectionOptions, MustKeepTwoFromLeadingAtOnce) {
  EXPECT_EQ(WrongWith({}), "");
  EXPECT_NE(WrongWith({.renew_deadline = seconds(15)}), "");
  EXPECT_NE(WrongWith({.retry_period = seconds(10)}), "");
  EXPECT_NE(WrongWith({.retry_period = seconds(0)}), "");
}

// Several candidates whose clocks run apart, a server that loses requests and answers, is late, loses the Lease or puts
// an old one back, processes that stand still: never do two lead at once, and no epoch is used twice or goes down.
TEST(ElectionSimulation, TwoNeverLeadAtOnceAndEpochsOnlyGrow) {
  struct Candidate {
    std::unique_ptr<Election> election;
    Duration offset;            // Of its clock.
    Duration stands_still{0};   // For so long.
    Duration answer_in{0};      // Of what it asked for.
    std::optional<Move> asked;  // What it waits for.
    MonotonicPoint sent_at;
    bool reaches = false;  // Whether the server carries it out.
    bool comes_back = false;
    int64_t term = 0;
    int64_t over = 0;  // The term that has ended.
  };
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    const auto chance = [&](double p) { return std::uniform_real_distribution<>()(random) < p; };
    std::vector<Candidate> candidates(3);
    for (size_t i = 0; i < candidates.size(); ++i) {
      candidates[i].offset = seconds(random() % 1000);
      candidates[i].election = std::make_unique<Election>(Options{.identity = "c" + std::to_string(i)},
                                                          MonotonicPoint{candidates[i].offset});
    }
    std::optional<Lease> server;
    Duration created_at{0};
    std::vector<Lease> backups;
    int64_t versions = 0;
    int64_t newest_epoch = 0;  // Of a term that began: what statuses and nodes would say.
    std::map<int64_t, size_t> terms;
    int terms_begun = 0;
    constexpr Duration kStep = milliseconds(100);
    for (Duration at{0}; at < seconds(600); at += kStep) {
      const bool troubled = at < seconds(500);
      // One that is deleted within moments of being created could have been there between two looks of a candidate that
      // saw none: fencing by the epoch is for that.
      if (!server) created_at = at;
      if (troubled && at > created_at + seconds(6) && chance(0.0005)) server.reset();
      if (troubled && server && chance(0.001)) backups.push_back(*server);
      if (troubled && server && !backups.empty() && chance(0.0003)) {
        server = backups[random() % backups.size()];
        server->version = std::to_string(++versions);
      }
      int leading = 0;
      for (size_t i = 0; i < candidates.size(); ++i) {
        Candidate& candidate = candidates[i];
        const MonotonicPoint now{at + candidate.offset};
        leading += candidate.election->IsLeading(now) ? 1 : 0;
        if (troubled && chance(0.0005)) candidate.stands_still = seconds(random() % 30);
        candidate.stands_still -= std::min(candidate.stands_still, kStep);
        if (candidate.stands_still > Duration(0)) continue;
        if (candidate.asked) {
          candidate.answer_in -= std::min(candidate.answer_in, kStep);
          if (candidate.answer_in > Duration(0)) continue;
          const Move move = *std::exchange(candidate.asked, std::nullopt);
          if (const auto* write = std::get_if<Write>(&move)) {
            const bool matches = write->over == (server ? server->version : "");
            if (candidate.reaches && matches) {
              server = write->lease;
              server->version = std::to_string(++versions);
            }
            if (!candidate.comes_back || !candidate.reaches)
              candidate.election->OnWriteFailed(now);
            else if (matches)
              candidate.election->OnWritten(*server, candidate.sent_at, now);
            else
              candidate.election->OnConflict(now);
          } else if (candidate.comes_back) {
            candidate.election->OnRead(server, now);
          } else {
            candidate.election->OnReadFailed(now);
          }
        }
        if (candidate.term != 0 && !candidate.election->IsLeading(now)) candidate.over = candidate.term;
        if (candidate.election->IsLeading(now)) {
          ASSERT_NE(candidate.election->epoch(), candidate.over) << "a term that was over goes on, seed " << seed;
        }
        if (candidate.election->IsLeading(now) && candidate.election->epoch() != candidate.term) {
          candidate.term = candidate.election->epoch();
          ASSERT_GT(candidate.term, newest_epoch) << "seed " << seed;
          newest_epoch = candidate.term;
          ++terms_begun;
        }
        const Move move = candidate.election->Next(now, newest_epoch);
        if (std::holds_alternative<WaitUntil>(move)) continue;
        candidate.asked = move;
        candidate.sent_at = now;
        candidate.answer_in = troubled && chance(0.05) ? Duration(seconds(random() % 20)) : kStep;
        candidate.reaches = !troubled || chance(0.9);
        candidate.comes_back = !troubled || chance(0.9);
      }
      ASSERT_LE(leading, 1) << "seed " << seed << " at " << at.count() / 1000 << " ms";
    }
    const auto leads = [&](const Candidate& candidate) {
      return candidate.election->IsLeading(MonotonicPoint{seconds(600) + candidate.offset});
    };
    EXPECT_EQ(std::count_if(candidates.begin(), candidates.end(), leads), 1) << "seed " << seed;
    EXPECT_GE(terms_begun, 1);
  }
}

}  // namespace
}  // namespace longshore::leader
