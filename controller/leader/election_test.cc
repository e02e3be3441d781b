#include "controller/leader/election.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "tests/seeds/seeds.h"

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
  // Makes the next move with a server that works, and returns it: "read", "create", "write over VERSION" or "wait".
  std::string Step() {
    const Move move = election_.Next(now_, floor_);
    if (std::holds_alternative<WaitUntil>(move)) return "wait";
    if (std::holds_alternative<Read>(move)) {
      election_.OnRead(server_, now_);
      return "read";
    }
    const Write& write = std::get<Write>(move);
    const std::string version = server_ ? server_->version : "";
    if (write.over == version) {
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

TEST_F(ElectionTest, TakesAReleasedLeaseImmediatelyWithAnEpochAboveAllKnownOnes) {
  server_ = Held("", 6, "x");
  floor_ = 6;
  EXPECT_EQ(Step(), "read");
  EXPECT_FALSE(election_.IsLeading(now_));
  EXPECT_EQ(Step(), "write over x");
  EXPECT_TRUE(election_.IsLeading(now_));
  EXPECT_EQ(election_.epoch(), 7);
  EXPECT_EQ(Step(), "wait");
}

TEST_F(ElectionTest, WaitsADurationIfAReleasedLeaseHasAnOutdatedEpoch) {
  server_ = Held("", 6, "x");
  floor_ = 9;
  EXPECT_EQ(Step(), "read");
  EXPECT_EQ(Step(), "wait");
  After(kDuration);
  EXPECT_EQ(Step(), "write over x");
  EXPECT_EQ(election_.epoch(), 10);
}

TEST_F(ElectionTest, TakesALeaseOnlyAfterItDidNotChangeForItsDuration) {
  server_ = Held("other", 6, "x");
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(Step(), "read");
    EXPECT_EQ(Step(), "wait");
    After(seconds(2));
  }
  server_->version = "y";  // The holder renewed the Lease.
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(Step(), "read") << i;
    EXPECT_EQ(Step(), "wait");
    After(seconds(2));
  }
  EXPECT_EQ(Step(), "write over y");
  EXPECT_EQ(election_.epoch(), 7);
}

TEST_F(ElectionTest, CreatesAMissingLeaseOnlyAfterADuration) {
  floor_ = 3;
  for (Duration waited{0}; waited < kDuration; waited += seconds(1)) {
    EXPECT_NE(Step(), "create");
    After(seconds(1));
  }
  EXPECT_EQ(Step(), "create");
  EXPECT_EQ(election_.epoch(), 4);
}

TEST_F(ElectionTest, LeadsUntilTheDeadlineAfterItsLastRenewal) {
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
  EXPECT_FALSE(election_.IsLeading(now_)) << "the clock alone ends the term";
}

TEST_F(ElectionTest, ARenewalWhoseAnswerWasLostDoesNotEndTheTerm) {
  Lead();
  After(seconds(2));
  server_->version = "lost";  // The server executed the renewal, but its answer was lost.
  election_.OnWriteFailed(now_);
  After(seconds(2));
  EXPECT_EQ(Step(), "write over 1");
  EXPECT_TRUE(election_.IsLeading(now_)) << "no other candidate can hold the Lease yet";
  EXPECT_EQ(Step(), "read");
  EXPECT_EQ(Step(), "write over lost");
  EXPECT_EQ(election_.epoch(), 7);
  EXPECT_TRUE(election_.IsLeading(now_));
}

// The candidate does not know when the server executed the write, so another holder may still lead.
TEST_F(ElectionTest, WaitsADurationAfterTheAnswerToAnAcquisitionWasLost) {
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

TEST_F(ElectionTest, TheHolderRewritesADeletedOrRestoredLeaseInTheSameTerm) {
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

TEST_F(ElectionTest, TheTermEndsWhenAnotherCandidateHoldsTheLease) {
  Lead();
  After(seconds(2));
  server_ = Held("other", 8, "taken");
  EXPECT_EQ(Step(), "write over 1");
  EXPECT_EQ(Step(), "read");
  EXPECT_FALSE(election_.IsLeading(now_));
  EXPECT_EQ(election_.holder(), "other");
}

TEST_F(ElectionTest, BeginsANewTermWhenNodesHoldAHigherEpoch) {
  Lead();
  floor_ = 30;
  After(seconds(2));
  Step();
  EXPECT_EQ(election_.epoch(), 31);
}

TEST_F(ElectionTest, ReleasesTheLeaseSoThatTheNextLeaderNeedNotWait) {
  EXPECT_FALSE(election_.Release());
  Lead();
  const auto write = election_.Release();
  ASSERT_TRUE(write);
  EXPECT_EQ(write->lease.holder, "");
  EXPECT_EQ(write->lease.transitions, 7);
  EXPECT_FALSE(election_.IsLeading(now_));
}

TEST(ElectionOptions, AreRejectedIfTwoCandidatesCouldLead) {
  EXPECT_EQ(ProblemWith({}), "");
  EXPECT_NE(ProblemWith({.renew_deadline = seconds(15)}), "");
  EXPECT_NE(ProblemWith({.retry_period = seconds(10)}), "");
  EXPECT_NE(ProblemWith({.retry_period = seconds(0)}), "");
}

// Simulates candidates with different clocks, paused processes, lost and late requests and answers, and a server that
// loses the Lease or restores an old one. At most one candidate leads, and every term has a higher epoch than the term
// before.
TEST(ElectionSimulation, AtMostOneCandidateLeadsAndEpochsOnlyGrow) {
  struct Candidate {
    std::unique_ptr<Election> election;
    Duration offset;              // Time on the candidate's clock minus simulated time.
    Duration paused_for{0};       // The remaining time for which its process is paused.
    Duration answer_in{0};        // The time until the answer to `pending`.
    std::optional<Move> pending;  // The move whose answer the candidate awaits.
    MonotonicPoint sent_at;
    bool request_arrives = false;  // Whether the server executes `pending`.
    bool answer_arrives = false;
    int64_t term = 0;
    int64_t ended_term = 0;
  };
  constexpr uint64_t kHistories = 2000;
  const uint64_t first = seeds::First(kHistories);
  for (uint64_t seed = first; seed < first + kHistories; ++seed) {
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
    int64_t newest_epoch = 0;  // The epoch of the newest term, which statuses and nodes would report.
    std::map<int64_t, size_t> terms;
    int terms_begun = 0;
    constexpr Duration kStep = milliseconds(100);
    for (Duration at{0}; at < seconds(600); at += kStep) {
      const bool has_faults = at < seconds(500);
      // The server does not delete a Lease soon after its creation, because a candidate could miss that Lease between
      // two reads. In reality, fencing by the epoch covers that case.
      if (!server) created_at = at;
      if (has_faults && at > created_at + seconds(6) && chance(0.0005)) server.reset();
      if (has_faults && server && chance(0.001)) backups.push_back(*server);
      if (has_faults && server && !backups.empty() && chance(0.0003)) {
        server = backups[random() % backups.size()];
        server->version = std::to_string(++versions);
      }
      int leading = 0;
      for (size_t i = 0; i < candidates.size(); ++i) {
        Candidate& candidate = candidates[i];
        const MonotonicPoint now{at + candidate.offset};
        leading += candidate.election->IsLeading(now) ? 1 : 0;
        if (has_faults && chance(0.0005)) candidate.paused_for = seconds(random() % 30);
        candidate.paused_for -= std::min(candidate.paused_for, kStep);
        if (candidate.paused_for > Duration(0)) continue;
        if (candidate.pending) {
          candidate.answer_in -= std::min(candidate.answer_in, kStep);
          if (candidate.answer_in > Duration(0)) continue;
          const Move move = *std::exchange(candidate.pending, std::nullopt);
          if (const auto* write = std::get_if<Write>(&move)) {
            const bool matches = write->over == (server ? server->version : "");
            if (candidate.request_arrives && matches) {
              server = write->lease;
              server->version = std::to_string(++versions);
            }
            if (!candidate.answer_arrives || !candidate.request_arrives)
              candidate.election->OnWriteFailed(now);
            else if (matches)
              candidate.election->OnWritten(*server, candidate.sent_at, now);
            else
              candidate.election->OnConflict(now);
          } else if (candidate.answer_arrives) {
            candidate.election->OnRead(server, now);
          } else {
            candidate.election->OnReadFailed(now);
          }
        }
        if (candidate.term != 0 && !candidate.election->IsLeading(now)) candidate.ended_term = candidate.term;
        if (candidate.election->IsLeading(now)) {
          ASSERT_NE(candidate.election->epoch(), candidate.ended_term) << "an ended term continues, seed " << seed;
        }
        if (candidate.election->IsLeading(now) && candidate.election->epoch() != candidate.term) {
          candidate.term = candidate.election->epoch();
          ASSERT_GT(candidate.term, newest_epoch) << "seed " << seed;
          newest_epoch = candidate.term;
          ++terms_begun;
        }
        const Move move = candidate.election->Next(now, newest_epoch);
        if (std::holds_alternative<WaitUntil>(move)) continue;
        candidate.pending = move;
        candidate.sent_at = now;
        candidate.answer_in = has_faults && chance(0.05) ? Duration(seconds(random() % 20)) : kStep;
        candidate.request_arrives = !has_faults || chance(0.9);
        candidate.answer_arrives = !has_faults || chance(0.9);
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
