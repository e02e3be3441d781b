#include "tests/sim/rules.h"

#include <algorithm>

#include "controller/decide/analysis/histogram.h"

namespace longshore::sim {

api::ArmEvidence EvidenceOf(const Request& request) {
  api::ArmEvidence arm;
  arm.requests = 1;
  arm.errors = request.error ? 1 : 0;
  if (!request.first_of_batch) return arm;
  const int bucket = analysis::BucketOf(Duration(static_cast<int64_t>(request.run_time_us)));
  arm.run_time_buckets.resize(static_cast<size_t>(bucket) + 1);
  arm.run_time_buckets.back() = 1;
  return arm;
}

EvidenceRule::EvidenceRule(const api::ModelSpec& spec, const api::ArmEvidence& baseline)
    : spec_(spec), analysis_(analysis::Begin(spec, baseline)) {}

bool EvidenceRule::RollsBack(const Request& request, double) {
  analysis::WindowEvidence window;
  (request.candidate ? window.candidate : window.stable) = EvidenceOf(request);
  const std::string node(1, static_cast<char>('a' + request.node));
  analysis_ = analysis::Update(std::move(analysis_), node, window);
  // The e-values only change when a window closes, so an analysis before that would give the same verdict.
  if (analysis_.open.contains(node)) return false;
  const api::Verdict verdict = analysis::Judge(analysis_, spec_, 0);
  reason_ = verdict.reason;
  return verdict.result == "Fail";
}

bool ThresholdRule::Fails() {
  if (run_times_us_.empty()) return false;
  const auto requests = static_cast<double>(run_times_us_.size());
  bool failed = options_.success_min && 1 - static_cast<double>(errors_) / requests < *options_.success_min;
  if (options_.p99_max_us) {
    const auto rank = run_times_us_.begin() + static_cast<std::ptrdiff_t>(0.99 * (requests - 1));
    std::nth_element(run_times_us_.begin(), rank, run_times_us_.end());
    failed = failed || *rank > *options_.p99_max_us;
  }
  errors_ = 0;
  run_times_us_.clear();
  return failed;
}

bool ThresholdRule::RollsBack(const Request& request, double second) {
  if (second >= look_at_) {
    look_at_ += options_.interval_seconds;
    if (Fails()) ++failures_;
  }
  if (!request.candidate) return failures_ >= options_.failures_max;
  errors_ += request.error ? 1 : 0;
  run_times_us_.push_back(request.run_time_us);
  return failures_ >= options_.failures_max;
}

}  // namespace longshore::sim
