// Rollback rules over a stream of requests: that of our analysis, and the fixed thresholds in the documentation of Argo
// Rollouts and Flagger.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/decide/analysis/analysis.h"
#include "tests/sim/stream.h"

namespace longshore::sim {

class Rule {
 public:
  virtual ~Rule() = default;
  // Takes a request that ended at this second of the rollout. Returns true to roll back now.
  virtual bool RollsBack(const Request& request, double second) = 0;
};

// Our analysis, evaluated after every request.
class EvidenceRule final : public Rule {
 public:
  EvidenceRule(const api::ModelSpec& spec, const api::ArmEvidence& baseline);
  bool RollsBack(const Request& request, double second) override;
  // The reason of the rollback.
  const std::string& reason() const { return reason_; }

 private:
  const api::ModelSpec spec_;
  analysis::Analysis analysis_;
  std::string reason_;
};

// A fixed threshold on the candidate's requests of the last interval. Rolls back at failed measurement number
// `failures_max`.
struct ThresholdOptions {
  std::optional<double> success_min;  // Minimum share of requests without an error.
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

// The evidence of one request, from which windows and baselines are built.
api::ArmEvidence EvidenceOf(const Request& request);

}  // namespace longshore::sim
