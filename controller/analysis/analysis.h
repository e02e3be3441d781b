// Judgement of a candidate against stable by evidence, valid however often it is looked at.
//
// Method: e-values for two streams of yes/no events (Turner, Ly, Grünwald: "Generic E-variables for exact sequential
// k-sample tests", arXiv:2106.02693). Each window contributes a factor whose mean is at most 1 while the candidate is
// no worse than stable; the product over the windows is a test martingale, and by Ville's inequality it ever reaches
// 1/alpha with probability at most alpha. docs/analysis.md has the formulas and the measured table.
//
// The tests and their shares of kAlphaTotal (a false rollback of an equal version, over the whole rollout):
//   ErrorRate        errors of the candidate against stable in the same windows
//   Latency          run times above thresholds from stable's own past, the candidate's shifted by the tolerance
//   LatencyBaseline  the same against stable's run times before the rollout, in windows that follow one in which the
//   SLO's
//                    target was missed. Both versions may be slower than before for other reasons: it holds, and rolls
//                    back nothing
// Certain failures need no test: a non-finite answer where stable was finite on the same input.
//
// Pure. An Analysis is a value that lives in RolloutStatus::analysis as JSON between two calls.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/json/json.h"
#include "controller/api/types.h"

namespace longshore::analysis {

inline constexpr double kAlphaTotal = 0.01;
inline constexpr double kAlphaErrors = 0.004;
inline constexpr double kAlphaLatency = 0.004;
inline constexpr double kAlphaLatencyBaseline = 0.002;

// What both arms did on one node in one stretch of time: differences of cumulative counts, each request in exactly one
// window. When a window ends must not depend on how its requests ended; time and numbers of requests are fine.
struct WindowEvidence {
  api::ArmEvidence candidate;
  api::ArmEvidence stable;
};

// By the name of the node. Versions are compared on the same node only: a candidate on a busy node is not worse for it.
using Windows = std::map<std::string, WindowEvidence>;

// All nodes together.
WindowEvidence Sum(const Windows& windows);

// Sums `more` into `total`; the largest difference of drift is kept.
void Add(const api::ArmEvidence& more, api::ArmEvidence& total);

// One sequential test: the logarithm of its e-value for every alternative of the mixture.
struct EProcess {
  std::vector<double> log_e;
};

struct Analysis {
  int tolerance_buckets = 0;      // Shift of the candidate's thresholds on the histogram's scale of 2^(1/8).
  std::optional<int> slo_bucket;  // Last bucket within the latency target; absent: no target.
  double slo_quantile = 0.99;

  api::ArmEvidence baseline;   // Stable before the rollout.
  api::ArmEvidence candidate;  // Totals since the rollout began.
  api::ArmEvidence stable;
  Windows open;  // Of nodes where one arm had no request yet; a window with one arm alone says nothing.

  EProcess errors;
  std::array<EProcess, 4> latency;  // One per quantile of kQuantiles.
  std::array<EProcess, 4> latency_baseline;
  std::set<std::string> slo_missed;  // The nodes that missed it in their last closed window.
};

// A candidate with a twentieth of the traffic finds colder caches: a run that is slower by less than this is no event,
// whatever the tolerance.
inline constexpr Duration kLatencyFloor{100};

inline constexpr std::array<double, 4> kQuantiles = {0.5, 0.75, 0.9, 0.99};

// The state at the beginning of a rollout. `baseline`: what stable did before it, as much as is known.
Analysis Begin(const api::ModelSpec& spec, const api::ArmEvidence& baseline);

// Takes what one node did. Call it once per node and look.
Analysis Update(Analysis analysis, const std::string& node, const WindowEvidence& window);

// Requests of the candidate since the rollout began.
int64_t CandidateRequests(const Analysis& analysis);

// Fail with reason and numbers; Pass when nothing failed and `step_requests` of the candidate in this step are at least
// rollout.requestsMin; otherwise Undecided. No evidence is no promotion, nor is a missed objective while the candidate
// is slower than stable was before the rollout (LatencyBaseline).
api::Verdict Judge(const Analysis& analysis, const api::ModelSpec& spec, int64_t step_requests);

// The e-value of the errors test, of the mixture.
double EValue(const EProcess& process);

Json ToJson(const Analysis& analysis);
// DataLoss when the JSON is not what ToJson wrote; a null gives an empty Analysis.
Result<Analysis> FromJson(const Json& json);

}  // namespace longshore::analysis
