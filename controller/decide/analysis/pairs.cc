#include "controller/decide/analysis/pairs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "controller/decide/analysis/outputs.h"

namespace longshore::analysis {
namespace {

// The end of the buckets up to this one.
std::vector<int64_t>::const_iterator EndOf(const api::PairEvidence& pairs, int bucket) {
  return pairs.ratio_buckets.begin() +
         std::clamp<std::ptrdiff_t>(bucket + 1, 0, static_cast<std::ptrdiff_t>(pairs.ratio_buckets.size()));
}

}  // namespace

void Add(const api::PairDrops& more, api::PairDrops& total) {
  total.busy += more.busy;
  total.budget += more.budget;
  total.queue += more.queue;
}

void Add(const api::PairEvidence& more, api::PairEvidence& total) {
  total.pairs += more.pairs;
  total.candidate_failed += more.candidate_failed;
  total.stable_failed += more.stable_failed;
  total.both_failed += more.both_failed;
  total.mismatched += more.mismatched;
  if (total.mismatch.empty()) total.mismatch = more.mismatch;
  Add(more.outputs, total.outputs);
  Add(more.dropped, total.dropped);
  const size_t size = std::min<size_t>(more.ratio_buckets.size(), kRatioBuckets);
  if (total.ratio_buckets.size() < size) total.ratio_buckets.resize(size);
  for (size_t i = 0; i < size; ++i) total.ratio_buckets[i] += more.ratio_buckets[i];
}

int64_t PairsUpTo(const api::PairEvidence& pairs, int bucket) {
  return std::accumulate(pairs.ratio_buckets.begin(), EndOf(pairs, bucket), int64_t{0});
}

int64_t PairsAbove(const api::PairEvidence& pairs, int bucket) {
  return std::accumulate(EndOf(pairs, bucket), pairs.ratio_buckets.end(), int64_t{0});
}

Throws ErrorThrows(const api::PairEvidence& pairs) { return {pairs.candidate_failed, pairs.stable_failed}; }

Throws RunTimeThrows(const api::PairEvidence& pairs, const RatioLimits& limits) {
  const int centre = kRatioBucketOfOne + limits.tolerance;
  return {PairsAbove(pairs, centre + limits.margin), PairsUpTo(pairs, centre - limits.margin)};
}

void TestCoin(const Throws& throws, Mixture coins, EProcess& process) {
  for (size_t i = 0; i < coins.size(); ++i) {
    const double p = coins[i].value;
    Multiply(process, coins, i,
             static_cast<double>(throws.candidate) * std::log(2 * p) +
                 static_cast<double>(throws.stable) * std::log(2 * (1 - p)));
  }
}

void ProvePairErrors(const api::PairEvidence& pairs, const ErrorTolerance& tolerance, EProcess& process) {
  const auto candidate = static_cast<double>(pairs.candidate_failed);
  const auto stable = static_cast<double>(pairs.stable_failed);
  const auto both = static_cast<double>(pairs.both_failed);
  const double neither = static_cast<double>(pairs.pairs) - candidate - stable - both;
  for (size_t i = 0; i < kBets.size(); ++i) {
    const double bet = kBets[i].value;
    const double limit = tolerance.absolute;
    const double absolute = (neither + both) * std::log1p(bet * limit) + candidate * std::log1p(bet * (limit - 1)) +
                            stable * std::log1p(bet * (limit + 1));
    const double factor = 1 + tolerance.relative;
    const double relative =
        candidate * std::log1p(-bet) + stable * std::log1p(bet * factor) + both * std::log1p(bet * (factor - 1));
    Multiply(process, kBets, i, i < kBets.size() / 2 ? absolute : relative);
  }
}

std::array<double, kBets.size()> GrowthPerPair(double error_rate, const ErrorTolerance& tolerance) {
  // The mean over so many pairs that rounding their counts makes no difference.
  constexpr double kPairs = 1e15;
  const auto count = [](double share) { return static_cast<int64_t>(std::llround(share * kPairs)); };
  const double one_fails = error_rate * (1 - error_rate);
  EProcess process;
  ProvePairErrors({.pairs = count(1),
                   .candidate_failed = count(one_fails),
                   .stable_failed = count(one_fails),
                   .both_failed = count(error_rate * error_rate)},
                  tolerance, process);
  std::array<double, kBets.size()> growth{};
  for (size_t i = 0; i < growth.size(); ++i) growth[i] = process.log_e[i] / kPairs;
  return growth;
}

}  // namespace longshore::analysis
