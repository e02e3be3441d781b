// Compares how often a candidate and stable fail on this node, for the guard that stops a failing candidate.
//
// The test is sequential (common/statistics/evalue.h): it may be looked at after every block, and the probability that
// it ever finds an equal version worse is at most alpha. A block ends with every eighth request of the candidate, never
// because of an error. Stable's rate in the alternatives comes from the blocks before.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "common/statistics/eprocess.h"

namespace longshore::routing {

// Thread-safe. Counting takes no lock, except for every eighth request of the candidate.
class RelativeErrors {
 public:
  static constexpr uint32_t kBlock = 8;
  // A block without requests of stable waits for them. From the first number of requests on, nothing can be said; from
  // the second on, the block is left out of the test.
  static constexpr uint32_t kAloneMin = 200;
  static constexpr uint32_t kAloneMax = 10'000;

  struct Verdict {
    std::string why;     // Why the candidate is worse; "" if that is not shown.
    bool alone = false;  // Stable had no request beside the candidate's last kAloneMin or more.
  };

  void CountStable(bool error);
  // Returns the verdict with this alpha, which is above 0.
  Verdict CountCandidate(bool error, double alpha);

 private:
  struct Count {
    uint32_t requests = 0;
    uint32_t errors = 0;
  };
  struct Total {
    int64_t requests = 0;
    int64_t errors = 0;
    void Add(const Count& count);
  };
  static uint64_t One(bool error) { return (uint64_t{1} << 32) + (error ? 1 : 0); }
  static Count Between(uint64_t before, uint64_t now);
  void EndBlock(const Count& candidate, const Count& stable);
  std::string Explain(double alpha) const;

  // Requests in the upper half, errors in the lower half, so that one load reads both.
  std::atomic<uint64_t> stable_{0};
  std::atomic<uint64_t> candidate_{0};
  std::mutex mutex_;  // Guards the members below.
  uint64_t stable_seen_ = 0;
  uint64_t candidate_seen_ = 0;
  Total stable_total_;
  Total candidate_total_;
  statistics::EProcess test_;
};

}  // namespace longshore::routing
