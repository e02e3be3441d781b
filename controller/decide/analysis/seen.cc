#include "controller/decide/analysis/seen.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/statistics/rates.h"
#include "controller/decide/analysis/histogram.h"

namespace longshore::analysis {
namespace {

using statistics::kBetterOdds;
using statistics::kWorseOdds;
using statistics::LogE;
using statistics::LogWeightedMean;
using statistics::Mixture;
using statistics::WeightedLog;

constexpr double kProofMax = 1e12;  // The e-value of a proof that covers nothing.

template <size_t n>
double LogEOfAll(const std::array<EProcess, n>& processes, Mixture mixture) {
  std::vector<WeightedLog> terms;
  for (const EProcess& process : processes) terms.push_back({1, LogE(process, mixture)});
  return LogWeightedMean(terms);
}

double LogEOfMargins(const Analysis& analysis) {
  std::vector<WeightedLog> terms;
  for (size_t i = 0; i < kMargins.size(); ++i) {
    terms.push_back({kMargins[i].weight, LogE(analysis.pair_latency[i], kWorseCoins)});
  }
  return LogWeightedMean(terms);
}

double FromLog(double log) { return std::exp(std::min(log, 500.0)); }

// The tests of requests and those of pairs are one test: their e-values are averaged. By far the most evidence of
// errors are requests.
void SeeTests(const Analysis& analysis, bool by_pairs, Seen& seen) {
  const double pair_errors = LogE(analysis.pair_errors, kWorseCoins);
  const double pair_latency = LogEOfMargins(analysis);
  const double request_weight = by_pairs ? 0 : 1;
  seen.errors = FromLog(LogWeightedMean({{0.7 * request_weight, LogE(analysis.errors, kWorseOdds)},
                                         {0.15 * request_weight, LogE(analysis.overload, kWorseOdds)},
                                         {0.15, pair_errors}}));
  seen.latency =
      FromLog(LogWeightedMean({{0.7 * request_weight, LogEOfAll(analysis.latency, kWorseOdds)}, {0.3, pair_latency}}));
  seen.latency_baseline = by_pairs ? 1 : FromLog(LogEOfAll(analysis.latency_baseline, kWorseOdds));
}

// A proof covers each quantile, so the smallest e-value counts.
void SeeProofs(const Analysis& analysis, bool by_pairs, Seen& seen) {
  if (by_pairs) {
    seen.errors_proof = FromLog(LogE(analysis.pair_errors_proof, kBets));
    seen.latency_proof = FromLog(LogE(analysis.pair_latency_proof, kBetterCoins));
    return;
  }
  seen.errors_proof = FromLog(LogE(analysis.errors_proof, kErrorFactors));
  seen.latency_proof = kProofMax;
  for (const EProcess& process : analysis.latency_proof) {
    seen.latency_proof = std::min(seen.latency_proof, FromLog(LogE(process, kBetterOdds)));
  }
}

// The difference of the error rates on pairs.
RateDifference DifferenceOfPairs(const api::PairEvidence& pairs) {
  return {static_cast<double>(pairs.pairs), static_cast<double>(pairs.candidate_failed - pairs.stable_failed),
          static_cast<double>(pairs.candidate_failed + pairs.stable_failed)};
}

// The number of rows of which both versions have the most runs.
int RowsOfMost(const api::ArmEvidence& candidate, const api::ArmEvidence& stable) {
  int best = 0;
  int64_t most = 0;
  for (const auto& [rows, buckets] : candidate.run_times) {
    const auto other = stable.run_times.find(rows);
    const int64_t runs = other == stable.run_times.end() ? 0 : std::min(Total(buckets), Total(other->second));
    if (runs <= most) continue;
    most = runs;
    best = rows;
  }
  return best;
}

// Pairs compare the versions on the same input, so their interval is preferred to that of the requests.
void SeeRunTimes(Seen& seen) {
  const Buckets& ratios = seen.candidate.pairs.ratio_buckets;
  Interval ratio = MedianOfRatios(ratios, kConfidence);
  const int rows = RowsOfMost(seen.candidate, seen.stable);
  if (std::isfinite(ratio.high)) {
    seen.run_time_pairs = Total(ratios);
  } else if (seen.candidate.run_times.contains(rows) && seen.stable.run_times.contains(rows)) {
    ratio = MedianRatio(seen.candidate.run_times.at(rows), seen.stable.run_times.at(rows), kConfidence);
  }
  if (std::isfinite(ratio.high)) seen.run_time_ratio = ratio;
}

// The largest ratio of the median run times that the proof allows.
double RunTimeAllowed(const Analysis& analysis, bool by_pairs, const Seen& seen) {
  const Buckets runs = Sum(seen.stable.run_times);
  if (by_pairs || Total(runs) == 0) return std::exp2(analysis.tolerances.latency_buckets / 8.0);
  const int median = QuantileBucket(runs, 0.5);
  return TimeBucketUpperMicroseconds(CandidateThreshold(analysis, median)) / TimeBucketUpperMicroseconds(median);
}

// The intervals come from other methods than the proofs. Where they differ, the proof decides. A missing proof of the
// run times says nothing about the interval of the median, because it may be another quantile that lacks it.
void Reconcile(const Analysis& analysis, bool by_pairs, Seen& seen) {
  Interval& ratio = seen.run_time_ratio;
  if (seen.latency_proof >= 1 / kAlphaProof)
    ratio.high = std::min(ratio.high, RunTimeAllowed(analysis, by_pairs, seen));
  ratio.low = std::min(ratio.low, ratio.high);
  const double allowed = analysis.tolerances.errors.LimitFor(seen.stable_error_rate) - seen.stable_error_rate;
  double& high = seen.error_difference.high;
  high = seen.errors_proof >= 1 / kAlphaProof ? std::min(high, allowed) : std::max(high, allowed);
  seen.error_difference.low = std::min(seen.error_difference.low, high);
}

}  // namespace

Seen SeenIn(const Analysis& analysis, const api::ModelSpec& spec, const StepFacts& step) {
  const bool by_pairs = IsJudgedByPairs(spec.rollout);
  const bool proven_by_pairs = by_pairs || step.without_weight;
  Seen seen{.candidate = analysis.candidate, .stable = analysis.stable};
  // The weights of a test stay the same in the whole rollout, also in the phase without weight: otherwise the test
  // would be two tests, each with the whole alpha.
  SeeTests(analysis, by_pairs, seen);
  SeeProofs(analysis, proven_by_pairs, seen);
  for (const OutputTest& test : analysis.outputs)
    seen.outputs.push_back({&test, FromLog(LogE(test.worse, kOutputBets)), FromLog(LogE(test.proof, kOutputBets))});
  if (IsKeyed(spec.rollout)) seen.bins = analysis.bins.look();
  const WindowEvidence open = Sum(analysis.open);
  Add(open.candidate, seen.candidate);
  Add(open.stable, seen.stable);
  const RateDifference difference =
      proven_by_pairs ? DifferenceOfPairs(analysis.candidate.pairs) : analysis.error_difference;
  seen.error_difference = difference.At(kConfidence);
  const double alpha = AlphasOf(spec).errors;
  seen.error_detectable = difference.Detectable(alpha > 0 ? alpha : kAlphaTotal);
  const int64_t requests = seen.stable.requests + analysis.baseline.requests;
  if (requests > 0) {
    seen.stable_error_rate =
        static_cast<double>(seen.stable.errors + analysis.baseline.errors) / static_cast<double>(requests);
  }
  SeeRunTimes(seen);
  Reconcile(analysis, proven_by_pairs, seen);
  return seen;
}

}  // namespace longshore::analysis
