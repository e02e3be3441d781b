// Rollback rules over a stream of requests: ours, and a fixed limit checked at intervals, as in Argo Rollouts and
// Flagger.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/decide/analysis/analysis.h"
#include "tests/sim/stream.h"

namespace longshore::sim {

// Our analysis. It looks after every request.
class EvidenceRule final {
 public:
  EvidenceRule(const api::ModelSpec& spec, const api::ArmEvidence& baseline);
  // Takes one request; true: roll back now.
  bool RollsBack(const Request& request);
  // The reason of the rollback.
  const std::string& reason() const { return reason_; }

 private:
  const api::ModelSpec spec_;
  analysis::Analysis analysis_;
  std::string reason_;
};

enum class Metric { kErrorShare, kP99 };

// A measurement of the candidate's requests of one interval.
struct Look {
  double candidates = 0;   // The candidate's requests since the rollout began.
  double measurement = 0;  // The share of errors, or the p99 of the run time in microseconds.
};
// The looks at one rollout of this length. An interval without a request of the candidate has no look.
struct Looking {
  Metric metric = Metric::kErrorShare;
  double interval_seconds = 60;
  double horizon_seconds = 2400;
};
std::vector<Look> LooksAt(const World& world, const Looking& looking, uint64_t seed);

// A fixed limit on the measurements: rolls back at failed measurement number `failures_max`. A measurement fails when
// it is above `measurement_max`.
struct Limit {
  double measurement_max = 0;
  int failures_max = 5;
};
// The candidate's requests until the rollback; nullopt without a rollback.
std::optional<double> RequestsUntilRollback(const std::vector<Look>& looks, const Limit& limit);

// The lowest measurement_max that rolls back at most `share_max` of these rollouts.
double LowestLimit(const std::vector<std::vector<Look>>& rollouts, int failures_max, double share_max);

// The evidence of one request, from which windows and baselines are built.
api::ArmEvidence EvidenceOf(const Request& request);

}  // namespace longshore::sim
