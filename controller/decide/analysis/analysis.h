// Judges a candidate against stable by evidence. The result is valid no matter how often it is evaluated.
//
// Method: e-values for two streams of yes/no events (Turner, Ly, Grünwald: "Generic E-variables for exact sequential
// k-sample tests", arXiv:2106.02693). Each window contributes a factor whose mean is at most 1 while the candidate is
// no worse than stable; the product over the windows is a test martingale, and by Ville's inequality the probability
// that it ever reaches 1/alpha is at most alpha. docs/analysis.md has the formulas and measured error probabilities.
//
// Three tests share kAlphaTotal, the probability of a false rollback of an equal version over the whole rollout:
//   ErrorRate        compares the errors of the candidate with those of stable in the same windows
//   Latency          compares the shares of runs above thresholds, which come from stable's own past; the candidate's
//                    thresholds are higher by the tolerance
//   LatencyBaseline  compares the candidate's run times with those of stable before the rollout. Uses a window of a
//                    node only if the node's previous window missed the latency target of the SLO. Both versions may
//                    be slower than before for other reasons, so this test only holds the rollout; rollout/ rolls back
//                    if the hold lasts too long
// A non-finite answer to an input for which stable gave a finite one is a certain failure and needs no test.
//
// Pure. An Analysis is a value that is stored in RolloutStatus::analysis as JSON between two calls.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/json/json.h"
#include "controller/api/types.h"

namespace longshore::analysis {

inline constexpr double kAlphaTotal = 0.01;
inline constexpr double kAlphaErrors = 0.004;
inline constexpr double kAlphaLatency = 0.004;
inline constexpr double kAlphaLatencyBaseline = 0.002;

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

// One sequential test: the logarithm of its e-value for every alternative of the mixture.
struct EProcess {
  std::vector<double> log_e;
};

struct Analysis {
  // The latency tolerance in buckets: the candidate's thresholds are this many buckets above stable's. One bucket is a
  // factor of 2^(1/8).
  int tolerance_buckets = 0;
  std::optional<int> slo_bucket;  // The last bucket within the latency target; nullopt: no target.
  double slo_quantile = 0.99;

  api::ArmEvidence baseline;   // Stable's counts before the rollout.
  api::ArmEvidence candidate;  // Total counts since the rollout began.
  api::ArmEvidence stable;
  Windows open;  // Windows of nodes where one arm had no request yet; no test has used them.

  EProcess errors;
  std::array<EProcess, 4> latency;  // One per quantile of kQuantiles.
  std::array<EProcess, 4> latency_baseline;
  std::set<std::string> slo_missed;  // Nodes whose last closed window missed the SLO.
};

// Minimum by which the candidate's latency thresholds exceed stable's, whatever the tolerance is, because a candidate
// with 5% of the traffic has colder caches.
inline constexpr Duration kLatencyFloor{100};

inline constexpr std::array<double, 4> kQuantiles = {0.5, 0.75, 0.9, 0.99};

// The state at the start of a rollout. `baseline`: the known counts of stable before it.
Analysis Begin(const api::ModelSpec& spec, const api::ArmEvidence& baseline);

// Adds the window of one node. Call it once per node each time evidence is used.
Analysis Update(Analysis analysis, const std::string& node, const WindowEvidence& window);

// Requests of the candidate since the rollout began.
int64_t CandidateRequests(const Analysis& analysis);

// Returns Fail, with reason and numbers, if a test failed; Pass if no test failed and the candidate had at least
// rollout.requestsMin requests in this step (`step_requests`); otherwise Undecided. Missing evidence never passes.
// While the latency target of the SLO is missed and the candidate is slower than stable was before the rollout, the
// result is Undecided (LatencyBaseline).
api::Verdict Judge(const Analysis& analysis, const api::ModelSpec& spec, int64_t step_requests);

// The e-value of a test: the mean over its mixture of alternatives.
double EValue(const EProcess& process);

Json ToJson(const Analysis& analysis);
// Returns DataLoss if the JSON was not written by ToJson; null gives an empty Analysis.
Result<Analysis> FromJson(const Json& json);

}  // namespace longshore::analysis
