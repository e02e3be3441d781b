#include "controller/decide/analysis/analysis.h"

#include <algorithm>
#include <cmath>

#include "common/base/buckets.h"
#include "common/statistics/evalue.h"
#include "controller/decide/analysis/histogram.h"

namespace longshore::analysis {
namespace {

using statistics::Block;
using statistics::LogEValue;
using statistics::LogEValueAgainst;
using statistics::OddsRatios;
using statistics::ShareMargin;
using statistics::WithOdds;

// Minimum number of stable's past requests before the quantiles of their run times are used as thresholds.
constexpr int64_t kPastMin = 50;
// Maximum number of requests of one arm that a window collects while it waits for requests of the other arm. Older
// requests were not measured under the same conditions as the awaited ones.
constexpr int64_t kAloneMax = 10000;
// Half of LatencyBaseline's share of alpha covers the error in the estimated baseline distribution, the other half
// covers the test itself.
constexpr double kBaselineDelta = kAlphaLatencyBaseline / 2;

int64_t Clamp(int64_t events, int64_t requests) { return std::clamp<int64_t>(events, 0, requests); }

void Accumulate(EProcess& process, size_t alternative, double log_factor) {
  process.log_e.resize(OddsRatios().size());
  process.log_e[alternative] += log_factor;
}

void Test(const Block& block, double stable_rate, EProcess& process) {
  for (size_t i = 0; i < OddsRatios().size(); ++i) {
    Accumulate(process, i, LogEValue(block, WithOdds(stable_rate, OddsRatios()[i]), stable_rate));
  }
}

// Stable's error rate so far. While there are few requests, the estimate is drawn towards 1%.
double StableErrorRate(const Analysis& analysis) {
  const auto errors = static_cast<double>(analysis.baseline.errors + analysis.stable.errors);
  const auto requests = static_cast<double>(analysis.baseline.requests + analysis.stable.requests);
  return std::clamp((errors + 0.05) / (requests + 5), 1e-7, 0.99);
}

void TestErrors(const WindowEvidence& window, Analysis& analysis) {
  const api::ArmEvidence& candidate = window.candidate;
  const api::ArmEvidence& stable = window.stable;
  const Block block{candidate.requests, Clamp(candidate.errors, candidate.requests), stable.requests,
                    Clamp(stable.errors, stable.requests)};
  Test(block, StableErrorRate(analysis), analysis.errors);
}

// Stable's run times before this window: those since the rollout began and, while these are few, also those before it.
Buckets StablePast(const Analysis& analysis) {
  constexpr int64_t kRecentEnough = 1000;
  Buckets past = analysis.stable.run_time_buckets;
  if (Total(past) < kRecentEnough) AddTo(analysis.baseline.run_time_buckets, past);
  return past;
}

// The threshold above which a run of the candidate counts as slower: stable's threshold plus the tolerance, but at
// least kLatencyFloor above stable's.
int CandidateThreshold(const Analysis& analysis, int threshold) {
  const Duration with_floor(std::llround(TimeBucketUpperMicroseconds(threshold)) + kLatencyFloor.count());
  return std::max(threshold + analysis.tolerance_buckets, BucketOf(with_floor));
}

void TestLatency(const WindowEvidence& window, Analysis& analysis) {
  const Buckets past = StablePast(analysis);
  const int64_t known = Total(past);
  if (known < kPastMin) return;
  for (size_t i = 0; i < kQuantiles.size(); ++i) {
    const int threshold = QuantileBucket(past, kQuantiles[i]);
    const Buckets& candidate = window.candidate.run_time_buckets;
    const Buckets& stable = window.stable.run_time_buckets;
    const Block block{Total(candidate), CountAbove(candidate, CandidateThreshold(analysis, threshold)), Total(stable),
                      CountAbove(stable, threshold)};
    const double rate = (static_cast<double>(CountAbove(past, threshold)) + 0.5) / (static_cast<double>(known) + 1);
    Test(block, rate, analysis.latency[i]);
  }
}

void TestLatencyBaseline(const std::string& node, const WindowEvidence& window, Analysis& analysis) {
  const Buckets& baseline = analysis.baseline.run_time_buckets;
  const int64_t known = Total(baseline);
  if (!analysis.slo_missed.contains(node) || known < kPastMin) return;
  for (size_t i = 0; i < kQuantiles.size(); ++i) {
    const int threshold = QuantileBucket(baseline, kQuantiles[i]);
    const double observed = static_cast<double>(CountAbove(baseline, threshold)) / static_cast<double>(known);
    const double null_rate = std::min(observed + ShareMargin(known, kBaselineDelta), 0.999);
    const Buckets& candidate = window.candidate.run_time_buckets;
    const int64_t events = CountAbove(candidate, CandidateThreshold(analysis, threshold));
    for (size_t k = 0; k < OddsRatios().size(); ++k) {
      const double alternative = WithOdds(null_rate, OddsRatios()[k]);
      Accumulate(analysis.latency_baseline[i], k, LogEValueAgainst(null_rate, Total(candidate), events, alternative));
    }
  }
}

// Whether the next window of the node counts for LatencyBaseline. This is decided before that window starts, so that it
// cannot bias the test.
bool MissesSlo(const WindowEvidence& window, const Analysis& analysis) {
  if (!analysis.slo_bucket) return false;
  Buckets both = window.stable.run_time_buckets;
  AddTo(window.candidate.run_time_buckets, both);
  const auto slow = static_cast<double>(CountAbove(both, *analysis.slo_bucket));
  return slow > (1 - analysis.slo_quantile) * static_cast<double>(Total(both));
}

void Close(const std::string& node, Analysis& analysis) {
  const WindowEvidence window = std::move(analysis.open.extract(node).mapped());
  if (window.candidate.requests > 0 && window.stable.requests > 0) {
    TestErrors(window, analysis);
    TestLatency(window, analysis);
    TestLatencyBaseline(node, window, analysis);
  }
  analysis.slo_missed.erase(node);
  if (MissesSlo(window, analysis)) analysis.slo_missed.insert(node);
  Add(window.stable, analysis.stable);
  Add(window.candidate, analysis.candidate);
}

}  // namespace

void Add(const api::ArmEvidence& more, api::ArmEvidence& total) {
  total.requests += more.requests;
  total.errors += more.errors;
  total.non_finite += more.non_finite;
  AddTo(more.run_time_buckets, total.run_time_buckets);
  total.drift.pairs += more.drift.pairs;
  total.drift.difference_sum += more.drift.difference_sum;
  total.drift.difference_max = std::max(total.drift.difference_max, more.drift.difference_max);
  total.drift.top1_changed += more.drift.top1_changed;
}

Analysis Begin(const api::ModelSpec& spec, const api::ArmEvidence& baseline) {
  Analysis analysis;
  analysis.tolerance_buckets = static_cast<int>(std::lround(8 * std::log2(1 + spec.rollout.latency.tolerance)));
  if (spec.slo.latency_target) analysis.slo_bucket = BucketOf(*spec.slo.latency_target);
  analysis.slo_quantile = spec.slo.latency_quantile;
  analysis.baseline = baseline;
  return analysis;
}

WindowEvidence Sum(const Windows& windows) {
  WindowEvidence sum;
  for (const auto& [_, window] : windows) {
    Add(window.candidate, sum.candidate);
    Add(window.stable, sum.stable);
  }
  return sum;
}

Analysis Update(Analysis analysis, const std::string& node, const WindowEvidence& window) {
  WindowEvidence& open = analysis.open[node];
  Add(window.candidate, open.candidate);
  Add(window.stable, open.stable);
  const auto [fewer, more] = std::minmax(open.candidate.requests, open.stable.requests);
  if (fewer > 0 || more >= kAloneMax) Close(node, analysis);
  return analysis;
}

int64_t CandidateRequests(const Analysis& analysis) {
  return analysis.candidate.requests + Sum(analysis.open).candidate.requests;
}

double EValue(const EProcess& process) { return std::exp(std::min(statistics::LogMean(process.log_e), 500.0)); }

}  // namespace longshore::analysis
