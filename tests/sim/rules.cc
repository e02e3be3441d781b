#include "tests/sim/rules.h"

#include <algorithm>
#include <functional>

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

bool EvidenceRule::RollsBack(const Request& request) {
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

namespace {

// Collects the requests of one interval and measures them.
class Interval {
 public:
  explicit Interval(Metric metric) : metric_(metric) {}
  void Add(const Request& request) {
    errors_ += request.error ? 1 : 0;
    run_times_us_.push_back(request.run_time_us);
  }
  bool empty() const { return run_times_us_.empty(); }
  double Measure() {
    const auto requests = static_cast<double>(run_times_us_.size());
    if (metric_ == Metric::kErrorShare) return errors_ / requests;
    const auto rank = run_times_us_.begin() + static_cast<std::ptrdiff_t>(0.99 * (requests - 1));
    std::nth_element(run_times_us_.begin(), rank, run_times_us_.end());
    return *rank;
  }

 private:
  Metric metric_;
  double errors_ = 0;
  std::vector<double> run_times_us_;
};

}  // namespace

std::vector<Look> LooksAt(const World& world, const Looking& looking, uint64_t seed) {
  Stream stream(world, seed);
  std::vector<Look> looks;
  double candidates = 0;
  Interval interval(looking.metric);
  double look_at = looking.interval_seconds;
  const auto total = static_cast<int64_t>(looking.horizon_seconds * world.requests_per_second);
  for (int64_t i = 1; i <= total; ++i) {
    const Request request = stream.Next();
    if (request.candidate) {
      ++candidates;
      interval.Add(request);
    }
    if (static_cast<double>(i) < look_at * world.requests_per_second) continue;
    look_at += looking.interval_seconds;
    if (interval.empty()) continue;
    looks.push_back({candidates, interval.Measure()});
    interval = Interval(looking.metric);
  }
  return looks;
}

std::optional<double> RequestsUntilRollback(const std::vector<Look>& looks, const Limit& limit) {
  int failures = 0;
  for (const Look& look : looks) {
    if (look.measurement > limit.measurement_max && ++failures == limit.failures_max) return look.candidates;
  }
  return std::nullopt;
}

double LowestLimit(const std::vector<std::vector<Look>>& rollouts, int failures_max, double share_max) {
  // A rollout is rolled back when its failures_max-th largest measurement is above the limit.
  std::vector<double> largest;
  for (const std::vector<Look>& looks : rollouts) {
    std::vector<double> measurements;
    for (const Look& look : looks) measurements.push_back(look.measurement);
    std::ranges::sort(measurements, std::greater());
    const auto nth = static_cast<size_t>(failures_max) - 1;
    largest.push_back(nth < measurements.size() ? measurements[nth] : 0);
  }
  std::ranges::sort(largest, std::greater());
  return largest[static_cast<size_t>(share_max * static_cast<double>(largest.size()))];
}

}  // namespace longshore::sim
