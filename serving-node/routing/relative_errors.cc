#include "serving-node/routing/relative_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/statistics/rates.h"

namespace longshore::routing {

void RelativeErrors::Total::Add(const Count& count) {
  requests += count.requests;
  errors += count.errors;
}

// Correct also after more than 2^32 requests, because a block has fewer.
RelativeErrors::Count RelativeErrors::Between(uint64_t before, uint64_t now) {
  return {static_cast<uint32_t>(now >> 32) - static_cast<uint32_t>(before >> 32),
          static_cast<uint32_t>(now) - static_cast<uint32_t>(before)};
}

void RelativeErrors::CountStable(bool error) { stable_.fetch_add(One(error), std::memory_order_relaxed); }

RelativeErrors::Verdict RelativeErrors::CountCandidate(bool error, double alpha) {
  const uint64_t counted = candidate_.fetch_add(One(error), std::memory_order_relaxed) + One(error);
  if ((counted >> 32) % kBlock != 0) return {};
  const std::lock_guard lock(mutex_);
  const uint64_t stable_now = stable_.load(std::memory_order_relaxed);
  const uint64_t candidate_now = candidate_.load(std::memory_order_relaxed);
  const Count stable = Between(stable_seen_, stable_now);
  const Count candidate = Between(candidate_seen_, candidate_now);
  if (candidate.requests == 0) return {};  // Another thread has just ended a block with these requests.
  if (stable.requests == 0 && candidate.requests < kAloneMax)
    return {.why = "", .alone = candidate.requests >= kAloneMin};
  EndBlock(candidate, stable);
  stable_seen_ = stable_now;
  candidate_seen_ = candidate_now;
  return {.why = Explain(alpha), .alone = stable.requests == 0};
}

void RelativeErrors::EndBlock(const Count& candidate, const Count& stable) {
  statistics::TestRates({candidate.requests, candidate.errors, stable.requests, stable.errors},
                        statistics::EstimateRate(stable_total_.errors, stable_total_.requests), test_);
  if (stable.requests == 0) return;
  stable_total_.Add(stable);
  candidate_total_.Add(candidate);
}

std::string RelativeErrors::Explain(double alpha) const {
  const double log_e = statistics::LogE(test_, statistics::kWorseOdds);
  if (log_e < -std::log(alpha)) return "";
  return fmt::format(
      "{} of {} requests failed, but only {} of {} of stable on this node: the e-value is {:.3g}, the limit {:.3g}",
      candidate_total_.errors, candidate_total_.requests, stable_total_.errors, stable_total_.requests,
      std::exp(std::min(log_e, 500.0)), 1 / alpha);
}

}  // namespace longshore::routing
