// Judges a candidate against stable by evidence. The result is valid no matter how often it is evaluated.
//
// Method: e-values for two streams of yes/no events (Turner, Ly, Grünwald: "Generic E-variables for exact sequential
// k-sample tests", arXiv:2106.02693). Each window contributes a factor whose mean is at most 1 while the candidate is
// no worse than stable; the product over the windows is a test martingale, and by Ville's inequality the probability
// that it ever reaches 1/alpha is at most alpha. docs/analysis.md has the formulas and measured error probabilities.
//
// Tests share kAlphaTotal, the probability of a false rollback of an equal version over the whole rollout
// (AlphasOf):
//   ErrorRate  compares the errors of the candidate with those of stable, and how many requests were refused or too
//   late
//              because of the queue of each
//   Latency    compares run times
//   Outputs    compares the outputs of pairs by the rules of the spec (outputs.h); one test for each rule
// Another test, LatencyBaseline, compares the candidate's run times with those of stable before the rollout. It uses a
// window of a node only if the node's previous window missed the latency target of the SLO. Both versions may be slower
// than before for other reasons, so this test never fails a candidate: it holds the rollout, and if that lasts too
// long, the verdict becomes Inconclusive (rollout/). A proof is the same kind of test with the opposite null
// hypothesis: that the candidate is worse than stable by more than the tolerance. It is complete when its e-value
// reaches 1 / kAlphaProof, so a candidate that is worse by more is taken for proven with a probability of at most
// kAlphaProof.
//
// The evidence comes from two sources. Requests that were assigned at random are compared in windows of a node, run
// times only between runs with the same number of rows. Pairs (pairs.h) are inputs that both versions ran. If users are
// assigned instead of requests, only the pairs count, because the requests of one user depend on each other.
// A non-finite answer to an input for which stable gave a finite one is a certain failure and needs no test, and so is
// an output with another name, type or shape than stable's.
//
// If users are assigned, one more test compares the failures and refusals of their requests: Bins (bins.h).
//
// Pure. An Analysis is a value that is stored in RolloutStatus::analysis as JSON between two calls.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/base/error.h"
#include "common/json/json.h"
#include "common/statistics/eprocess.h"
#include "controller/api/types.h"
#include "controller/decide/analysis/bins.h"
#include "controller/decide/analysis/difference.h"
#include "controller/decide/analysis/outputs.h"
#include "controller/decide/analysis/pairs.h"
#include "controller/decide/analysis/tolerance.h"

namespace longshore::analysis {

using statistics::EProcess;

inline constexpr double kAlphaTotal = 0.01;
inline constexpr double kAlphaProof = 0.05;

// The share of each test in kAlphaTotal. A test that is disabled has no share; the others get it. The rest of
// kAlphaTotal belongs to the guards of the nodes or, if users are assigned, to the test of the bins, because the guards
// then use none of it.
struct Alphas {
  double errors = 0;
  double latency = 0;
  double outputs = 0;  // Of each rule.
  double bins = 0;
};
inline constexpr double kAlphaGuards = 0.001;
static_assert(kAlphaBins <= kAlphaGuards);
// LatencyBaseline holds a rollout wrongly with a probability of at most twice this, unless the fleet is slower than
// before: once for the error in the estimated distribution of the baseline, and once for the test itself.
inline constexpr double kBaselineDelta = 0.001;
Alphas AlphasOf(const api::ModelSpec& spec);

// The counts of both arms on one node during one period, as differences of cumulative counts; each request is in
// exactly one window. The end of a window must not depend on the results of its requests; it may depend on time and on
// numbers of requests.
struct WindowEvidence {
  api::ArmEvidence candidate;
  api::ArmEvidence stable;
};

// The key is the name of the node. Versions are only compared on the same node, so that a busy node does not count
// against the candidate.
using Windows = std::map<std::string, WindowEvidence>;

// The sum over all nodes.
WindowEvidence Sum(const Windows& windows);

// Adds the counts of `more` to `total`; `drift.difference_max` becomes the larger of the two.
void Add(const api::ArmEvidence& more, api::ArmEvidence& total);

inline constexpr std::array<double, 4> kQuantiles = {0.5, 0.75, 0.9, 0.99};
// The quantiles that a proof covers. A larger one would need many times the requests.
inline constexpr std::array<double, 2> kProvenQuantiles = {0.5, 0.9};

// How much worse than stable a candidate may be.
struct Tolerances {
  ErrorTolerance errors;
  // In buckets of run times: the candidate's thresholds are this many buckets above stable's. One bucket is a factor of
  // 2^(1/8).
  int latency_buckets = 0;

  friend bool operator==(const Tolerances&, const Tolerances&) = default;
};
Tolerances TolerancesOf(const api::Rollout& rollout);

// What a phase without weight requires.
struct PhaseRequirements {
  api::Proof proof = api::Proof::kNone;
  int64_t pairs_min = 0;
  Duration hold{0};
  bool errors = false;   // Whether a proof covers the error rate,
  bool latency = false;  // and the run times.

  friend bool operator==(const PhaseRequirements&, const PhaseRequirements&) = default;
};
PhaseRequirements PhaseRequirementsOf(const api::Rollout& rollout);

// The sampled requests that were dropped one after the other since the newest pair, on all nodes.
struct DropsSincePair {
  TimePoint since{};  // When the first of them was noticed; TimePoint{}: there are none.
  TimePoint last{};   // When the newest one was noticed.
  api::PairDrops dropped{};

  friend bool operator==(const DropsSincePair&, const DropsSincePair&) = default;
};

struct Analysis {
  Tolerances tolerances;
  PhaseRequirements phase;
  std::optional<int> slo_bucket;  // The last bucket within the latency target; nullopt: no target.
  double slo_quantile = 0.99;

  api::ArmEvidence baseline;   // Stable's counts before the rollout.
  api::ArmEvidence candidate;  // Total counts since the rollout began.
  api::ArmEvidence stable;
  Windows open;  // Windows of nodes where one arm had no request yet; no test has used them.

  EProcess errors;
  EProcess overload;
  std::array<EProcess, kQuantiles.size()> latency;
  std::array<EProcess, kQuantiles.size()> latency_baseline;
  EProcess pair_errors;
  std::array<EProcess, kMargins.size()> pair_latency;

  EProcess errors_proof;
  std::array<EProcess, kProvenQuantiles.size()> latency_proof;
  EProcess pair_errors_proof;
  EProcess pair_latency_proof;

  std::vector<OutputTest> outputs;  // In the order of the rules in the spec.
  Bins bins;
  DropsSincePair drops_since_pair;

  RateDifference error_difference;
  std::set<std::string> slo_missed;  // Nodes whose last closed window missed the SLO.
};

// Calls visit(name, process) for each process of the analysis.
template <typename AnalysisT, typename Visit>
void ForEachProcess(AnalysisT& analysis, Visit visit) {
  const auto each = [&](const std::string& name, auto& processes) {
    for (size_t i = 0; i < processes.size(); ++i) visit(name + std::to_string(i), processes[i]);
  };
  visit("errors", analysis.errors);
  visit("overload", analysis.overload);
  each("latency", analysis.latency);
  each("latencyBaseline", analysis.latency_baseline);
  visit("pairErrors", analysis.pair_errors);
  each("pairLatency", analysis.pair_latency);
  visit("errorsProof", analysis.errors_proof);
  each("latencyProof", analysis.latency_proof);
  visit("pairErrorsProof", analysis.pair_errors_proof);
  visit("pairLatencyProof", analysis.pair_latency_proof);
}

// Minimum by which the candidate's latency thresholds exceed stable's, whatever the tolerance is, because a candidate
// with 5% of the traffic has colder caches.
inline constexpr Duration kLatencyFloor{100};

// The bucket above which a run of the candidate counts as slower if one of stable counts as slower above `threshold`:
// that bucket plus the tolerance, but at least kLatencyFloor above it. Pairs are compared without kLatencyFloor.
int CandidateThreshold(const Analysis& analysis, int threshold);

// The state at the start of a rollout. `baseline`: the known counts of stable before it.
Analysis Begin(const api::ModelSpec& spec, const api::ArmEvidence& baseline);

// Adds the window of one node. Call it once per node each time evidence is used. If users are assigned,
// analysis.bins.Follow says how; call it before.
Analysis Update(Analysis analysis, const std::string& node, const WindowEvidence& window);

// Updates drops_since_pair with the windows of all nodes together, which end now. Call it each time evidence is used.
void NoteDrops(const Windows& windows, TimePoint now, Analysis& analysis);

// Ends the open windows in which the candidate has no request, without a test. Call it when a candidate without weight
// gets some: the requests of these windows are older, so they were not measured under the same conditions.
void EndWindowsWithoutCandidate(Analysis& analysis);

// Applies the tolerances of the spec if they have changed since the last call; returns true if they have. What the
// evidence so far has shown about a tolerance that is stricter now is forgotten.
bool ApplyTolerances(const api::Rollout& rollout, Analysis& analysis);
// Applies the rules of outputs if they have changed; returns true if they have.
bool ApplyOutputRules(const api::Rollout& rollout, Analysis& analysis);
// Applies what a phase without weight requires; returns true if it has changed.
bool ApplyPhaseRequirements(const api::Rollout& rollout, Analysis& analysis);

// Forgets that nodes which are not in `present` missed the SLO, because they can no longer meet it.
void ForgetDeparted(const std::set<std::string>& present, Analysis& analysis);

// Whether users are assigned to the versions, not requests.
bool IsKeyed(const api::Rollout& rollout);
// Whether the requests of clients say nothing about the candidate in the whole rollout, so that only pairs count: users
// are assigned, or the strategy gives the candidate no weight before it is promoted.
bool IsJudgedByPairs(const api::Rollout& rollout);
// How much longer than stable's the candidate's run times may be, for people: "10 % longer" if pairs prove it, and
// "10 % or 0.1 ms longer" (kLatencyFloor) if requests do.
std::string RunTimeLimitText(const api::Rollout& rollout, bool by_pairs);

// The requests that the candidate answered. If users are assigned, pairs count too, because there may be no user of the
// candidate at a low weight.
int64_t RequestsOf(const api::ArmEvidence& candidate, const api::Rollout& rollout);
// The same, of all evidence since the rollout began.
int64_t CandidateRequests(const Analysis& analysis, const api::Rollout& rollout);

// What is known about the current step.
struct StepFacts {
  api::Proof proof = api::Proof::kSampled;
  int64_t requests = 0;  // That the candidate answered in the step.
  Duration elapsed{0};   // Since the step began.
  // Whether the candidate has no weight. `requests` are then its pairs, and only pairs can prove something.
  bool without_weight = false;
};

// Returns
//   Fail          with reason and numbers, if a test failed
//   Pass          if no test failed and the step has what it requires: a proof, the requests, or nothing
//   Inconclusive  if a proof is still missing after rollout.patience
//   Undecided     otherwise. While the latency target of the SLO is missed and the candidate is slower than stable was
//                 before the rollout, the reason is LatencyBaseline
api::Verdict Judge(const Analysis& analysis, const api::ModelSpec& spec, const StepFacts& step);
// The same without Verdict::numbers, in half the time: simulations judge millions of times.
api::Verdict JudgeWithoutNumbers(const Analysis& analysis, const api::ModelSpec& spec, const StepFacts& step);

// How many requests of both versions a proof of the error rate needs, about, if both versions fail at the rate
// `error_rate` and the candidate gets this share of the requests. Half of such rollouts need fewer; nine in ten need at
// most twice as many. nullopt if no number suffices. Requires: 0 < candidate_share < 1.
std::optional<double> RequestsToProve(double error_rate, double candidate_share, const ErrorTolerance& tolerance);
// How many pairs that proof needs at most, about, if users are assigned.
std::optional<double> PairsToProve(double error_rate, const ErrorTolerance& tolerance);

Json ToJson(const Analysis& analysis);
// Reads this part alone, which is much faster than FromJson; an empty one if the JSON was not written by ToJson.
DropsSincePair DropsSincePairIn(const Json& json);
// Returns DataLoss if the JSON was not written by ToJson; null gives an empty Analysis.
Result<Analysis> FromJson(const Json& json);

}  // namespace longshore::analysis
