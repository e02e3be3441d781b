#include "common/statistics/evalue.h"

#include <algorithm>
#include <cmath>

namespace longshore::statistics {
namespace {

// Logarithm of the likelihood ratio of two Bernoulli distributions, whose probabilities of an event are p and q.
double LogRatio(int64_t requests, int64_t events, double p, double q) {
  const auto hits = static_cast<double>(events);
  const auto misses = static_cast<double>(requests - events);
  // The second logarithm is that of (1 - p) / (1 - q). Most windows have no events, and logarithms are slow.
  return (events == 0 ? 0 : hits * std::log(p / q)) + misses * std::log1p((q - p) / (1 - q));
}

}  // namespace

double LogEValue(const Block& block, double candidate_rate, double stable_rate) {
  const auto candidate = static_cast<double>(block.candidate_requests);
  const auto stable = static_cast<double>(block.stable_requests);
  if (candidate == 0 || stable == 0) return 0;
  const double null_rate = (candidate * candidate_rate + stable * stable_rate) / (candidate + stable);
  return LogRatio(block.candidate_requests, block.candidate_events, candidate_rate, null_rate) +
         LogRatio(block.stable_requests, block.stable_events, stable_rate, null_rate);
}

double LogEValueAgainst(double null_rate, int64_t requests, int64_t events, double candidate_rate) {
  return LogRatio(requests, events, candidate_rate, null_rate);
}

double WithOdds(double rate, double ratio) { return rate * ratio / (1 - rate + rate * ratio); }

double ShareMargin(int64_t samples, double delta) {
  return std::sqrt(std::log(1 / delta) / (2 * static_cast<double>(samples)));
}

}  // namespace longshore::statistics
