// Rules that look at a stream of requests and say when to roll back: ours, and fixed thresholds as Argo Rollouts' and
// Flagger's documentation shows them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/analysis/analysis.h"
#include "tests/sim/stream.h"

namespace longshore::sim {

class Rule {
 public:
  virtual ~Rule() = default;
  // Sees one request that ended at this second of the rollout; true: roll back now.
  virtual bool RollsBack(const Request& request, double second) = 0;
};

// Looks after every request.
class EvidenceRule final : public Rule {
 public:
  EvidenceRule(const api::ModelSpec& spec, const api::ArmEvidence& baseline);
  bool RollsBack(const Request& request, double second) override;
  // Of the rollback.
  const std::string& reason() const { return reason_; }

 private:
  const api::ModelSpec spec_;
  analysis::Analysis analysis_;
  std::string reason_;
};

// A fixed threshold on what the candidate did in the last interval. Rolls back at the failed look number
// `failures_max`.
struct ThresholdOptions {
  std::optional<double> success_min;  // Share of requests without error.
  std::optional<double> p99_max_us;
  double interval_seconds = 60;
  int failures_max = 5;
};
class ThresholdRule final : public Rule {
 public:
  explicit ThresholdRule(const ThresholdOptions& options) : options_(options), look_at_(options.interval_seconds) {}
  bool RollsBack(const Request& request, double second) override;

 private:
  bool Fails();

  const ThresholdOptions options_;
  double look_at_;
  int failures_ = 0;
  int64_t errors_ = 0;
  std::vector<double> run_times_us_;
};

// Evidence of one request, for building windows and baselines.
api::ArmEvidence EvidenceOf(const Request& request);

}  // namespace longshore::sim
