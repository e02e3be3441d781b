#include "controller/decide/analysis/texts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/base/buckets.h"
#include "controller/decide/analysis/histogram.h"

namespace longshore::analysis {
namespace {

constexpr double kShownMax = 1e12;  // The largest e-value that is shown; larger ones carry no more information.

double Shown(double e) { return std::min(e, kShownMax); }
double LimitOf(double alpha) { return alpha > 0 ? 1 / alpha : kShownMax; }

double QuantileMs(const api::ArmEvidence& arm, double quantile) {
  const Buckets run_times = Sum(arm.run_times);
  if (Total(run_times) == 0) return 0;
  return TimeBucketUpperMicroseconds(QuantileBucket(run_times, quantile)) / 1000;
}

double Share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// "3.2", "320", "about 3.2 million". Nobody reads "3.2e+06" at once.
std::string LargeText(double e) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits{
      {{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}, {1e3, "thousand"}}};
  constexpr double kRoundsToOne = 0.9995;  // The lowest number that is 1 when it has three digits.
  if (e > kShownMax) return "above a trillion";
  for (const auto& [unit, name] : kUnits) {
    if (e / unit >= kRoundsToOne) return fmt::format("about {} {}", TwoDigits(e / unit), name);
  }
  return fmt::format("{:.3g}", e);
}

// "0.21 percentage points lower".
std::string PointsText(double difference) {
  return fmt::format("{} percentage points {}", TwoDigits(100 * std::abs(difference)),
                     difference < 0 ? "lower" : "higher");
}

void AddPairNumbers(const Seen& seen, std::map<std::string, double>& numbers) {
  const api::PairEvidence& pairs = seen.candidate.pairs;
  if (pairs.pairs == 0) return;
  numbers["pairs"] = static_cast<double>(pairs.pairs);
  numbers["pairsOnlyCandidateFailed"] = static_cast<double>(pairs.candidate_failed);
  numbers["pairsOnlyStableFailed"] = static_cast<double>(pairs.stable_failed);
}

// The numbers of the rule that is nearest to a failure, and of the one that is farthest from its proof.
void AddOutputNumbers(const Seen& seen, const Alphas& alphas, std::map<std::string, double>& numbers) {
  if (seen.candidate.pairs.mismatched > 0)
    numbers["pairsMismatched"] = static_cast<double>(seen.candidate.pairs.mismatched);
  if (seen.outputs.empty()) return;
  const OutputSeen& worst = *std::ranges::max_element(seen.outputs, {}, &OutputSeen::worse);
  const api::OutputEvidence& counts = worst.test->counts;
  numbers["outputPairs"] = static_cast<double>(counts.pairs);
  numbers["outputDiffers"] = Share(counts.differs + counts.both, counts.pairs);
  numbers["outputNoise"] = Share(counts.noise + counts.both, counts.pairs);
  numbers["outputDiffersLimit"] = worst.test->limit;
  numbers["eOutputs"] = Shown(worst.worse);
  numbers["eOutputsLimit"] = LimitOf(alphas.outputs);
  numbers["eOutputsProof"] = Shown(std::ranges::min_element(seen.outputs, {}, &OutputSeen::proof)->proof);
}

void AddDriftNumbers(const Seen& seen, std::map<std::string, double>& numbers) {
  if (seen.candidate.drift.pairs == 0) return;
  numbers["driftPairs"] = static_cast<double>(seen.candidate.drift.pairs);
  numbers["driftMean"] = DriftMean(seen);
  numbers["driftMax"] = seen.candidate.drift.difference_max;
  numbers["driftTop1Changed"] = static_cast<double>(seen.candidate.drift.top1_changed);
}

}  // namespace

std::string EValueText(double e, double limit) { return fmt::format("e-value {}, limit {:.0f}", LargeText(e), limit); }

double DriftMean(const Seen& seen) {
  const api::DriftEvidence& drift = seen.candidate.drift;
  return drift.pairs == 0 ? 0 : drift.difference_sum / static_cast<double>(drift.pairs);
}

std::map<std::string, double> Numbers(const Seen& seen, const Analysis& analysis, const Alphas& alphas) {
  std::map<std::string, double> numbers = {{"candidateRequests", static_cast<double>(seen.candidate.requests)},
                                           {"candidateErrors", static_cast<double>(seen.candidate.errors)},
                                           {"candidateNonFinite", static_cast<double>(seen.candidate.non_finite)},
                                           {"candidateOverloaded", static_cast<double>(seen.candidate.overloaded)},
                                           {"candidateP50Ms", QuantileMs(seen.candidate, 0.5)},
                                           {"candidateP99Ms", QuantileMs(seen.candidate, 0.99)},
                                           {"stableRequests", static_cast<double>(seen.stable.requests)},
                                           {"stableErrors", static_cast<double>(seen.stable.errors)},
                                           {"stableOverloaded", static_cast<double>(seen.stable.overloaded)},
                                           {"stableP50Ms", QuantileMs(seen.stable, 0.5)},
                                           {"stableP99Ms", QuantileMs(seen.stable, 0.99)},
                                           {"baselineP50Ms", QuantileMs(analysis.baseline, 0.5)},
                                           {"baselineP99Ms", QuantileMs(analysis.baseline, 0.99)},
                                           {"eErrors", Shown(seen.errors)},
                                           {"eErrorsLimit", LimitOf(alphas.errors)},
                                           {"eErrorsProof", Shown(seen.errors_proof)},
                                           {"eLatency", Shown(seen.latency)},
                                           {"eLatencyLimit", LimitOf(alphas.latency)},
                                           {"eLatencyProof", Shown(seen.latency_proof)},
                                           {"eLatencyBaseline", Shown(seen.latency_baseline)},
                                           {"eLatencyBaselineLimit", 1 / kBaselineDelta},
                                           {"eProofLimit", 1 / kAlphaProof},
                                           {"errorDifferenceLow", seen.error_difference.low},
                                           {"errorDifferenceHigh", seen.error_difference.high},
                                           {"errorDifferenceDetectable", seen.error_detectable}};
  if (seen.run_time_ratio.high > 0) {
    numbers["runTimeRatioLow"] = seen.run_time_ratio.low;
    numbers["runTimeRatioHigh"] = seen.run_time_ratio.high;
    numbers["runTimePairs"] = static_cast<double>(seen.run_time_pairs);
  }
  AddPairNumbers(seen, numbers);
  AddOutputNumbers(seen, alphas, numbers);
  AddDriftNumbers(seen, numbers);
  if (seen.bins) numbers.merge(NumbersOf(*seen.bins));
  return numbers;
}

std::string ErrorsMessage(const Seen& seen, double alpha) {
  std::string message =
      seen.candidate.requests == 0
          ? "in pairs, the candidate fails more often than stable"
          : fmt::format("{} of {} candidate requests failed ({:.2f}%), {} of {} of stable ({:.2f}%)",
                        seen.candidate.errors, seen.candidate.requests,
                        100 * Share(seen.candidate.errors, seen.candidate.requests), seen.stable.errors,
                        seen.stable.requests, 100 * Share(seen.stable.errors, seen.stable.requests));
  if (seen.candidate.overloaded > 0) {
    message +=
        fmt::format("; {} of the candidate's requests and {} of stable's were refused or late because of the queue",
                    seen.candidate.overloaded, seen.stable.overloaded);
  }
  if (const api::PairEvidence& pairs = seen.candidate.pairs; pairs.pairs > 0) {
    message +=
        fmt::format("; of {} inputs that both versions ran, {} failed only on the candidate and {} only on stable",
                    pairs.pairs, pairs.candidate_failed, pairs.stable_failed);
  }
  return message + ": " + EValueText(seen.errors, LimitOf(alpha));
}

std::string LatencyMessage(const Seen& seen, const LatencyComparison& comparison, const api::ModelSpec& spec) {
  if (seen.candidate.requests == 0) {
    const Interval& ratio = seen.run_time_ratio;
    const std::string known =
        ratio.high > 0 ? ": its median run time is " + RatioIntervalText(ratio.low, ratio.high) : "";
    return fmt::format(
        "in pairs, the candidate runs longer than {} on the same inputs{} (tolerance {:.0f}%, {} pairs): {}",
        comparison.than, known, 100 * spec.rollout.latency.tolerance, seen.candidate.pairs.pairs,
        EValueText(comparison.e, comparison.limit));
  }
  return fmt::format(
      "the candidate runs longer than {}: median {:.3g} ms against {:.3g} ms, p99 {:.3g} ms against {:.3g} ms "
      "(tolerance {:.0f}%): {}",
      comparison.than, QuantileMs(seen.candidate, 0.5), QuantileMs(comparison.other, 0.5),
      QuantileMs(seen.candidate, 0.99), QuantileMs(comparison.other, 0.99), 100 * spec.rollout.latency.tolerance,
      EValueText(comparison.e, comparison.limit));
}

std::string DifferenceText(const Seen& seen, const api::ModelSpec& spec) {
  const api::Rollout& rollout = spec.rollout;
  const bool is_bounded = seen.error_difference.low > -1 || seen.error_difference.high < 1;
  std::string text;
  if (rollout.error_rate.enabled && is_bounded) {
    text = fmt::format("its error rate is {} to {} than stable's", PointsText(seen.error_difference.low),
                       PointsText(seen.error_difference.high));
  }
  if (rollout.latency.enabled && seen.run_time_ratio.high > 0) {
    text += fmt::format("{}its median run time{} is {}", text.empty() ? "" : ", ",
                        seen.run_time_pairs > 0 ? " in pairs" : "",
                        RatioIntervalText(seen.run_time_ratio.low, seen.run_time_ratio.high));
  }
  if (text.empty())
    return rollout.error_rate.enabled || rollout.latency.enabled
               ? "there are too few requests yet to say how far it differs from stable"
               : "no test is enabled";
  text += " (95 % confidence)";
  if (spec.rollout.error_rate.enabled && seen.error_detectable < 1) {
    text += fmt::format("; the smallest increase of the error rate that so much evidence finds is {} percentage points",
                        TwoDigits(100 * seen.error_detectable));
  }
  return text;
}

}  // namespace longshore::analysis
