#include <algorithm>
#include <cmath>

#include "common/base/buckets.h"
#include "controller/decide/analysis/analysis.h"
#include "controller/decide/analysis/histogram.h"

namespace longshore::analysis {
namespace {

// Minimum number of pairs before their mean difference is compared with the limit.
constexpr int64_t kDriftPairsMin = 30;
constexpr double kShownMax = 1e12;  // The largest e-value that is shown; larger ones carry no more information.

double MixtureOf(const std::array<EProcess, 4>& processes) {
  std::vector<double> logs;
  for (const EProcess& process : processes) logs.insert(logs.end(), process.log_e.begin(), process.log_e.end());
  return EValue({logs});
}

struct Seen {
  api::ArmEvidence candidate;  // Counts of the whole rollout, including those of open windows.
  api::ArmEvidence stable;
  double errors = 1;  // This number and the next two are e-values.
  double latency = 1;
  double latency_baseline = 1;
};

Seen SeenIn(const Analysis& analysis) {
  Seen seen{analysis.candidate, analysis.stable, EValue(analysis.errors), MixtureOf(analysis.latency),
            MixtureOf(analysis.latency_baseline)};
  const WindowEvidence open = Sum(analysis.open);
  Add(open.candidate, seen.candidate);
  Add(open.stable, seen.stable);
  return seen;
}

double QuantileMs(const api::ArmEvidence& arm, double quantile) {
  if (Total(arm.run_time_buckets) == 0) return 0;
  return TimeBucketUpperMicroseconds(QuantileBucket(arm.run_time_buckets, quantile)) / 1000;
}

double Share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double DriftMean(const Seen& seen) {
  const api::DriftEvidence& drift = seen.candidate.drift;
  return drift.pairs == 0 ? 0 : drift.difference_sum / static_cast<double>(drift.pairs);
}

std::map<std::string, double> Numbers(const Seen& seen, const Analysis& analysis) {
  std::map<std::string, double> numbers = {{"candidateRequests", static_cast<double>(seen.candidate.requests)},
                                           {"candidateErrors", static_cast<double>(seen.candidate.errors)},
                                           {"candidateNonFinite", static_cast<double>(seen.candidate.non_finite)},
                                           {"candidateP50Ms", QuantileMs(seen.candidate, 0.5)},
                                           {"candidateP99Ms", QuantileMs(seen.candidate, 0.99)},
                                           {"stableRequests", static_cast<double>(seen.stable.requests)},
                                           {"stableErrors", static_cast<double>(seen.stable.errors)},
                                           {"stableP50Ms", QuantileMs(seen.stable, 0.5)},
                                           {"stableP99Ms", QuantileMs(seen.stable, 0.99)},
                                           {"baselineP50Ms", QuantileMs(analysis.baseline, 0.5)},
                                           {"baselineP99Ms", QuantileMs(analysis.baseline, 0.99)},
                                           {"eErrors", std::min(seen.errors, kShownMax)},
                                           {"eErrorsLimit", 1 / kAlphaErrors},
                                           {"eLatency", std::min(seen.latency, kShownMax)},
                                           {"eLatencyLimit", 1 / kAlphaLatency},
                                           {"eLatencyBaseline", std::min(seen.latency_baseline, kShownMax)},
                                           {"eLatencyBaselineLimit", 2 / kAlphaLatencyBaseline}};
  if (seen.candidate.drift.pairs == 0) return numbers;
  numbers["driftPairs"] = static_cast<double>(seen.candidate.drift.pairs);
  numbers["driftMean"] = DriftMean(seen);
  numbers["driftMax"] = seen.candidate.drift.difference_max;
  numbers["driftTop1Changed"] = static_cast<double>(seen.candidate.drift.top1_changed);
  return numbers;
}

std::string ErrorsMessage(const Seen& seen) {
  return fmt::format(
      "{} of {} candidate requests failed ({:.2f}%), {} of {} of stable ({:.2f}%): e-value {:.3g}, limit {:.0f}",
      seen.candidate.errors, seen.candidate.requests, 100 * Share(seen.candidate.errors, seen.candidate.requests),
      seen.stable.errors, seen.stable.requests, 100 * Share(seen.stable.errors, seen.stable.requests), seen.errors,
      1 / kAlphaErrors);
}

std::string LatencyMessage(const Seen& seen, const api::ArmEvidence& other, const char* than, double e, double limit,
                           const api::ModelSpec& spec) {
  return fmt::format(
      "the candidate runs longer than {}: median {:.3g} ms against {:.3g} ms, p99 {:.3g} ms against {:.3g} ms "
      "(tolerance {:.0f}%): e-value {:.3g}, limit {:.0f}",
      than, QuantileMs(seen.candidate, 0.5), QuantileMs(other, 0.5), QuantileMs(seen.candidate, 0.99),
      QuantileMs(other, 0.99), 100 * spec.rollout.latency.tolerance, e, limit);
}

// Reason and message of the first failed test; empty if none failed.
std::pair<std::string, std::string> Failure(const Seen& seen, const api::ModelSpec& spec) {
  const api::Rollout& rollout = spec.rollout;
  if (spec.validation.non_finite_reject && seen.candidate.non_finite > 0) {
    return {"NonFinite",
            fmt::format("{} candidate answers contained NaN or Inf where stable's were finite on the same input",
                        seen.candidate.non_finite)};
  }
  if (rollout.error_rate.enabled && seen.errors >= 1 / kAlphaErrors) return {"ErrorRate", ErrorsMessage(seen)};
  if (rollout.latency.enabled && seen.latency >= 1 / kAlphaLatency) {
    return {"Latency", LatencyMessage(seen, seen.stable, "stable", seen.latency, 1 / kAlphaLatency, spec)};
  }
  const int64_t pairs = seen.candidate.drift.pairs;
  if (rollout.drift.max && pairs >= kDriftPairsMin && DriftMean(seen) > *rollout.drift.max) {
    return {"Drift", fmt::format("mean difference {:.3g} over {} pairs of answers is above {:.3g}", DriftMean(seen),
                                 pairs, *rollout.drift.max)};
  }
  return {};
}

// Whether the test LatencyBaseline holds the rollout at its current step. This test only holds and never fails a
// candidate: it cannot tell a candidate that slows down stable in the same process from a slow period of the machine.
bool HoldsForBaseline(const Seen& seen, const Analysis& analysis, const api::ModelSpec& spec) {
  return spec.rollout.latency.enabled && !analysis.slo_missed.empty() &&
         seen.latency_baseline >= 2 / kAlphaLatencyBaseline;
}

}  // namespace

api::Verdict Judge(const Analysis& analysis, const api::ModelSpec& spec, int64_t step_requests) {
  const Seen seen = SeenIn(analysis);
  api::Verdict verdict{"", "", "", Numbers(seen, analysis)};
  if (auto [reason, message] = Failure(seen, spec); !reason.empty()) {
    verdict.result = "Fail";
    verdict.reason = std::move(reason);
    verdict.message = std::move(message);
  } else if (HoldsForBaseline(seen, analysis, spec)) {
    verdict.result = "Undecided";
    verdict.reason = "LatencyBaseline";
    verdict.message = "the latency objective is missed, and " +
                      LatencyMessage(seen, analysis.baseline, "stable did before the rollout", seen.latency_baseline,
                                     2 / kAlphaLatencyBaseline, spec);
  } else if (step_requests < spec.rollout.requests_min) {
    verdict.result = "Undecided";
    verdict.reason = "TooFewRequests";
    verdict.message = fmt::format("only {} of the {} candidate requests that this step requires", step_requests,
                                  spec.rollout.requests_min);
  } else {
    verdict.result = "Pass";
    verdict.reason = "NoRegression";
    verdict.message = fmt::format("no regression in {} candidate requests of this step", step_requests);
  }
  return verdict;
}

}  // namespace longshore::analysis
