#include "controller/decide/analysis/analysis.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/buckets.h"
#include "common/statistics/evalue.h"
#include "common/statistics/rates.h"
#include "controller/decide/analysis/histogram.h"

namespace longshore::analysis {
namespace {

using statistics::EstimateRate;
using statistics::ForgetGains;
using statistics::kWorseOdds;
using statistics::LogEValueAgainst;
using statistics::Multiply;
using statistics::ProveRates;
using statistics::ShareMargin;
using statistics::TestRates;
using statistics::WithOdds;

// Minimum number of stable's past requests before the quantiles of their run times are used as thresholds.
constexpr int64_t kPastMin = 50;
// Maximum number of requests of one arm that a window collects while it waits for requests of the other arm. Older
// requests were not measured under the same conditions as the awaited ones.
constexpr int64_t kAloneMax = 10000;

Block ErrorsOf(const WindowEvidence& window) {
  const auto errors = [](const api::ArmEvidence& arm) { return std::clamp<int64_t>(arm.errors, 0, arm.requests); };
  return {window.candidate.requests, errors(window.candidate), window.stable.requests, errors(window.stable)};
}

// Requests that a version's queue refused or delayed too long, of all that were assigned to it.
Block OverloadOf(const WindowEvidence& window) {
  return {window.candidate.requests + window.candidate.overloaded, window.candidate.overloaded,
          window.stable.requests + window.stable.overloaded, window.stable.overloaded};
}

double StableErrorRate(const Analysis& analysis) {
  return EstimateRate(analysis.baseline.errors + analysis.stable.errors,
                      analysis.baseline.requests + analysis.stable.requests);
}

void TestErrors(const WindowEvidence& window, Analysis& analysis) {
  const Block block = ErrorsOf(window);
  const double stable_rate = StableErrorRate(analysis);
  TestRates(block, stable_rate, analysis.errors);
  TestRates(OverloadOf(window), EstimateRate(analysis.stable.overloaded, analysis.stable.requests), analysis.overload);
  ProveErrors(block, stable_rate, analysis.tolerances.errors, analysis.errors_proof);
  analysis.error_difference.Add(block, EstimateRate(analysis.stable.errors + analysis.candidate.errors,
                                                    analysis.stable.requests + analysis.candidate.requests));
}

const Buckets& BucketsFor(const api::ArmEvidence& arm, int rows) {
  static const Buckets kNone;
  const auto found = arm.run_times.find(rows);
  return found == arm.run_times.end() ? kNone : found->second;
}

// Stable's run times with this number of rows before this window: those since the rollout began and, while these are
// few, also those before it.
Buckets StablePast(const Analysis& analysis, int rows) {
  constexpr int64_t kRecentEnough = 1000;
  Buckets past = BucketsFor(analysis.stable, rows);
  if (Total(past) < kRecentEnough) AddTo(BucketsFor(analysis.baseline, rows), past);
  return past;
}

// The runs of a window with one number of rows, and what is known about stable's runs with it.
struct Runs {
  const CumulativeBuckets candidate;
  const CumulativeBuckets stable;
  const CumulativeBuckets past;

  Block Above(const Analysis& analysis, int threshold) const {
    return {candidate.Total(), candidate.CountAbove(CandidateThreshold(analysis, threshold)), stable.Total(),
            stable.CountAbove(threshold)};
  }
  double PastShareAbove(int threshold) const {
    return (static_cast<double>(past.CountAbove(threshold)) + 0.5) / (static_cast<double>(past.Total()) + 1);
  }
};

void TestRunTimes(const Runs& runs, Analysis& analysis) {
  for (size_t i = 0; i < kQuantiles.size(); ++i) {
    const int threshold = runs.past.QuantileBucket(kQuantiles[i]);
    TestRates(runs.Above(analysis, threshold), runs.PastShareAbove(threshold), analysis.latency[i]);
  }
  // A proof uses the lower edge of the quantile's bucket as stable's threshold. With the upper edge, versions whose run
  // times all fall into one bucket would have no events, and could not be told apart from a slower one.
  for (size_t i = 0; i < kProvenQuantiles.size(); ++i) {
    const int threshold = runs.past.QuantileBucket(kProvenQuantiles[i]) - 1;
    ProveRates(runs.Above(analysis, threshold), runs.PastShareAbove(threshold), analysis.latency_proof[i]);
  }
}

// Compares only runs with the same number of rows: a version with more traffic has larger batches, which take longer.
void TestLatency(const WindowEvidence& window, Analysis& analysis) {
  for (const auto& [rows, candidate] : window.candidate.run_times) {
    const Runs runs{CumulativeBuckets(candidate), CumulativeBuckets(BucketsFor(window.stable, rows)),
                    CumulativeBuckets(StablePast(analysis, rows))};
    if (runs.candidate.Total() > 0 && runs.stable.Total() > 0 && runs.past.Total() >= kPastMin) {
      TestRunTimes(runs, analysis);
    }
  }
}

void TestLatencyBaseline(const std::string& node, const WindowEvidence& window, Analysis& analysis) {
  if (!analysis.slo_missed.contains(node)) return;
  for (const auto& [rows, candidate] : window.candidate.run_times) {
    const Buckets& baseline = BucketsFor(analysis.baseline, rows);
    const int64_t known = Total(baseline);
    if (known < kPastMin) continue;
    for (size_t i = 0; i < kQuantiles.size(); ++i) {
      const int threshold = QuantileBucket(baseline, kQuantiles[i]);
      const double observed = static_cast<double>(CountAbove(baseline, threshold)) / static_cast<double>(known);
      const double null_rate = std::min(observed + ShareMargin(known, kBaselineDelta), 0.999);
      const int64_t events = CountAbove(candidate, CandidateThreshold(analysis, threshold));
      for (size_t k = 0; k < kWorseOdds.size(); ++k) {
        const double alternative = WithOdds(null_rate, kWorseOdds[k].value);
        Multiply(analysis.latency_baseline[i], kWorseOdds, k,
                 LogEValueAgainst(null_rate, Total(candidate), events, alternative));
      }
    }
  }
}

void TestPairs(const api::PairEvidence& pairs, Analysis& analysis) {
  // Two buckets of a ratio are one bucket of run times.
  const int tolerance = analysis.tolerances.latency_buckets * kRatioBucketsPerDoubling / 8;
  TestCoin(ErrorThrows(pairs), kWorseCoins, analysis.pair_errors);
  for (size_t i = 0; i < kMargins.size(); ++i) {
    const RatioLimits limits{tolerance, static_cast<int>(kMargins[i].value)};
    TestCoin(RunTimeThrows(pairs, limits), kWorseCoins, analysis.pair_latency[i]);
  }
  ProvePairErrors(pairs, analysis.tolerances.errors, analysis.pair_errors_proof);
  TestCoin(RunTimeThrows(pairs, {tolerance, 0}), kBetterCoins, analysis.pair_latency_proof);
  TestOutputs(pairs.outputs, analysis.outputs);
  Add(pairs, analysis.candidate.pairs);
  analysis.candidate.pairs.outputs.clear();  // The tests have the counts.
}

// Whether the next window of the node counts for LatencyBaseline. This is decided before that window starts, so that it
// cannot bias the test.
bool MissesSlo(const WindowEvidence& window, const Analysis& analysis) {
  if (!analysis.slo_bucket) return false;
  Buckets both = Sum(window.stable.run_times);
  AddTo(Sum(window.candidate.run_times), both);
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

int CandidateThreshold(const Analysis& analysis, int threshold) {
  const Duration with_floor(std::llround(TimeBucketUpperMicroseconds(threshold)) + kLatencyFloor.count());
  return std::max(threshold + analysis.tolerances.latency_buckets, BucketOf(with_floor));
}

std::string RunTimeLimitText(const api::Rollout& rollout, bool by_pairs) {
  const std::string floor =
      by_pairs ? "" : fmt::format(" or {:g} ms", static_cast<double>(kLatencyFloor.count()) / 1000);
  return fmt::format("{:g} %{} longer", 100 * rollout.latency.tolerance, floor);
}

void Add(const api::ArmEvidence& more, api::ArmEvidence& total) {
  total.requests += more.requests;
  total.errors += more.errors;
  total.non_finite += more.non_finite;
  total.overloaded += more.overloaded;
  AddTo(more.run_times, total.run_times);
  Add(more.pairs, total.pairs);
  Add(more.bins, total.bins);
  total.drift.pairs += more.drift.pairs;
  total.drift.difference_sum += more.drift.difference_sum;
  total.drift.difference_max = std::max(total.drift.difference_max, more.drift.difference_max);
  total.drift.top1_changed += more.drift.top1_changed;
}

Alphas AlphasOf(const api::ModelSpec& spec) {
  const double errors = spec.rollout.error_rate.enabled ? 1 : 0;
  const double latency = spec.rollout.latency.enabled ? 1 : 0;
  const double rules = spec.rollout.shadow ? static_cast<double>(spec.rollout.shadow->compare.size()) : 0;
  const double outputs = rules > 0 ? 1 : 0;
  const double each = (kAlphaTotal - kAlphaGuards) / std::max(errors + latency + outputs, 1.0);
  return {errors * each, latency * each, rules > 0 ? each / rules : 0, IsKeyed(spec.rollout) ? errors * kAlphaBins : 0};
}

Tolerances TolerancesOf(const api::Rollout& rollout) {
  return {ToleranceOf(rollout.error_rate), static_cast<int>(std::lround(8 * std::log2(1 + rollout.latency.tolerance)))};
}

PhaseRequirements PhaseRequirementsOf(const api::Rollout& rollout) {
  return {api::ProofOfShadow(rollout), rollout.requests_min, rollout.shadow ? rollout.shadow->hold : Duration(0),
          rollout.error_rate.enabled, rollout.latency.enabled};
}

Analysis Begin(const api::ModelSpec& spec, const api::ArmEvidence& baseline) {
  Analysis analysis;
  analysis.tolerances = TolerancesOf(spec.rollout);
  analysis.phase = PhaseRequirementsOf(spec.rollout);
  if (spec.slo.latency_target) analysis.slo_bucket = BucketOf(*spec.slo.latency_target);
  analysis.slo_quantile = spec.slo.latency_quantile;
  analysis.baseline = baseline;
  ApplyOutputRules(spec.rollout, analysis);
  return analysis;
}

bool ApplyOutputRules(const api::Rollout& rollout, Analysis& analysis) {
  return ApplyRules(rollout.shadow ? rollout.shadow->compare : std::vector<api::OutputRule>{}, analysis.outputs);
}

bool ApplyPhaseRequirements(const api::Rollout& rollout, Analysis& analysis) {
  const PhaseRequirements now = PhaseRequirementsOf(rollout);
  return std::exchange(analysis.phase, now) != now;
}

bool ApplyTolerances(const api::Rollout& rollout, Analysis& analysis) {
  const Tolerances before = analysis.tolerances;
  const Tolerances now = TolerancesOf(rollout);
  if (now == before) return false;
  analysis.tolerances = now;
  if (now.errors.absolute < before.errors.absolute || now.errors.relative < before.errors.relative) {
    ForgetGains(analysis.errors_proof);
    ForgetGains(analysis.pair_errors_proof);
  }
  if (now.latency_buckets < before.latency_buckets) {
    for (EProcess& process : analysis.latency_proof) ForgetGains(process);
    ForgetGains(analysis.pair_latency_proof);
  }
  if (now.latency_buckets > before.latency_buckets) {
    for (EProcess& process : analysis.latency) ForgetGains(process);
    for (EProcess& process : analysis.latency_baseline) ForgetGains(process);
    for (EProcess& process : analysis.pair_latency) ForgetGains(process);
  }
  return true;
}

void ForgetDeparted(const std::set<std::string>& present, Analysis& analysis) {
  std::erase_if(analysis.slo_missed, [&](const std::string& node) { return !present.contains(node); });
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
  const api::PairEvidence& pairs = window.candidate.pairs;
  if (pairs.pairs > 0 || pairs.dropped.total() > 0) TestPairs(pairs, analysis);
  analysis.bins.Add(node, {window.candidate.bins, window.stable.bins}, analysis.baseline.bins);
  WindowEvidence& open = analysis.open[node];
  Add(window.candidate, open.candidate);
  Add(window.stable, open.stable);
  // These are used already. A pair has both versions, and bins are compared over all windows together.
  open.candidate.pairs = {};
  open.candidate.bins = {};
  open.stable.bins = {};
  const auto [fewer, more] = std::minmax(open.candidate.requests, open.stable.requests);
  if (fewer > 0 || more >= kAloneMax) Close(node, analysis);
  return analysis;
}

void NoteDrops(const Windows& windows, TimePoint now, Analysis& analysis) {
  api::PairEvidence pairs;
  for (const auto& [_, window] : windows) Add(window.candidate.pairs, pairs);
  DropsSincePair& drops = analysis.drops_since_pair;
  if (pairs.pairs > 0) drops = {};
  if (pairs.pairs > 0 || pairs.dropped.total() == 0) return;
  if (drops.since == TimePoint{}) drops.since = now;
  drops.last = now;
  Add(pairs.dropped, drops.dropped);
}

void EndWindowsWithoutCandidate(Analysis& analysis) {
  std::erase_if(analysis.open, [&](const auto& of_node) {
    const WindowEvidence& window = of_node.second;
    if (window.candidate.requests > 0) return false;
    Add(window.stable, analysis.stable);
    Add(window.candidate, analysis.candidate);
    return true;
  });
}

bool IsKeyed(const api::Rollout& rollout) { return rollout.assignment_by != api::AssignmentBy::kRequest; }

bool IsJudgedByPairs(const api::Rollout& rollout) {
  return IsKeyed(rollout) || rollout.strategy == api::Strategy::kShadow ||
         rollout.strategy == api::Strategy::kBlueGreen;
}

int64_t RequestsOf(const api::ArmEvidence& candidate, const api::Rollout& rollout) {
  return candidate.requests + (IsKeyed(rollout) ? candidate.pairs.pairs : 0);
}

int64_t CandidateRequests(const Analysis& analysis, const api::Rollout& rollout) {
  return RequestsOf(analysis.candidate, rollout) + RequestsOf(Sum(analysis.open).candidate, rollout);
}

std::optional<double> RequestsToProve(double error_rate, double candidate_share, const ErrorTolerance& tolerance) {
  const double growth = GrowthPerRequest(candidate_share, {error_rate, error_rate}, tolerance);
  if (growth <= 0) return std::nullopt;
  return std::log(1 / (kAlphaProof * kErrorFactors[0].weight)) / growth;
}

std::optional<double> PairsToProve(double error_rate, const ErrorTolerance& tolerance) {
  const auto growth = GrowthPerPair(error_rate, tolerance);
  std::optional<double> fewest;
  for (size_t i = 0; i < growth.size(); ++i) {
    if (growth[i] <= 0) continue;
    const double needed = std::log(1 / (kAlphaProof * kBets[i].weight)) / growth[i];
    if (!fewest || needed < *fewest) fewest = needed;
  }
  return fewest;
}

}  // namespace longshore::analysis
