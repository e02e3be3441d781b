// Rollback rules over a stream of requests: ours, and a fixed limit checked at intervals, as in Argo Rollouts and
// Flagger.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/decide/analysis/analysis.h"
#include "tests/sim/stream.h"

namespace longshore::sim {

// Our analysis, which is evaluated after every request.
class EvidenceRule final {
 public:
  EvidenceRule(const api::ModelSpec& spec, const api::ArmEvidence& baseline);
  // Takes one request. Returns true if the candidate must be rolled back now.
  bool RollsBack(const Request& request);
  // The reason of the rollback.
  const std::string& reason() const { return reason_; }

 private:
  const api::ModelSpec spec_;
  analysis::Analysis analysis_;
  std::string reason_;
};

enum class Metric { kErrorShare, kP99 };

// One measurement of the candidate, from its requests in one interval.
struct Look {
  double candidates = 0;   // Number of the candidate's requests since the rollout began.
  double measurement = 0;  // The share of errors, or the p99 of the run time in microseconds.
};
// How a rollout is measured: this metric, once per interval, until the horizon. An interval without a request of the
// candidate gives no Look.
struct Looking {
  Metric metric = Metric::kErrorShare;
  double interval_seconds = 60;
  double horizon_seconds = 2400;
};
std::vector<Look> LooksAt(const World& world, const Looking& looking, uint64_t seed);

// A rule with a fixed limit: a measurement fails if it is above `measurement_max`, and the rollout is rolled back when
// `failures_max` measurements have failed.
struct Limit {
  double measurement_max = 0;
  int failures_max = 5;
};
// Returns the number of the candidate's requests until the rollback; nullopt without a rollback.
std::optional<double> RequestsUntilRollback(const std::vector<Look>& looks, const Limit& limit);

// Returns the lowest measurement_max with which at most the share `share_max` of these rollouts is rolled back.
double LowestLimit(const std::vector<std::vector<Look>>& rollouts, int failures_max, double share_max);

// The evidence of one request, from which windows and baselines are built.
api::ArmEvidence EvidenceOf(const Request& request);

}  // namespace longshore::sim
