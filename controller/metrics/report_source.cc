#include <cmath>
#include <map>
#include <vector>

#include "controller/metrics/metrics.h"

namespace longshore::metrics {
namespace {

using autoscale::FleetMetrics;
using autoscale::Presence;
using autoscale::Signal;

constexpr Duration kIntervalMin = std::chrono::milliseconds(900);

// Sums over the nodes of what happened between two reports.
struct Window {
  double slot_seconds = 0;   // Time that all run slots had.
  double busy_seconds = 0;
  double queue_seconds = 0;
  int64_t started = 0;
  int64_t queued = 0;        // Waiting now.
  std::vector<int64_t> total_time_buckets;
  TimePoint newest;
};

struct Sample {
  std::string incarnation;
  TimePoint at;
  control::NodeLoad load;
};

// Upper bound of bucket i of control.proto, in seconds.
double BucketSeconds(size_t i) { return std::exp2(static_cast<double>(i) / 8) * 1e-6; }

void AddDifference(const Sample& before, const Sample& now, Window& window) {
  const double seconds = std::chrono::duration<double>(now.at - before.at).count();
  window.slot_seconds += seconds * static_cast<double>(now.load.concurrent_runs_max());
  window.busy_seconds += now.load.busy_seconds() - before.load.busy_seconds();
  window.queue_seconds += now.load.queue_seconds() - before.load.queue_seconds();
  window.started += now.load.started() - before.load.started();
  window.queued += now.load.queued();
  const auto& buckets = now.load.total_time_buckets();
  if (window.total_time_buckets.size() < static_cast<size_t>(buckets.size())) {
    window.total_time_buckets.resize(static_cast<size_t>(buckets.size()));
  }
  for (int i = 0; i < buckets.size(); ++i) {
    const int64_t earlier = i < before.load.total_time_buckets_size() ? before.load.total_time_buckets(i) : 0;
    window.total_time_buckets[static_cast<size_t>(i)] += buckets[i] - earlier;
  }
  window.newest = std::max(window.newest, now.at);
}

Signal Value(double value, TimePoint at) { return {Presence::kValue, value, at}; }

Signal Quantile(const Window& window, double quantile) {
  int64_t total = 0;
  for (const int64_t count : window.total_time_buckets) total += count;
  if (total == 0) return {Presence::kIdle, 0, window.newest};
  double seen = 0;
  for (size_t i = 0; i < window.total_time_buckets.size(); ++i) {
    seen += static_cast<double>(window.total_time_buckets[i]);
    if (seen >= quantile * static_cast<double>(total)) return Value(BucketSeconds(i), window.newest);
  }
  return {};
}

FleetMetrics MetricsOf(const Window& window, double quantile) {
  FleetMetrics metrics;
  if (window.slot_seconds > 0) metrics.utilization = Value(window.busy_seconds / window.slot_seconds, window.newest);
  if (window.started > 0) {
    metrics.queue_delay_seconds = Value(window.queue_seconds / static_cast<double>(window.started), window.newest);
  } else if (window.queued == 0) {
    metrics.queue_delay_seconds = {Presence::kIdle, 0, window.newest};
  }  // Requests wait and none was started: how long they wait is not known.
  metrics.latency_seconds = Quantile(window, quantile);
  return metrics;
}

class ReportSource final : public Source {
 public:
  explicit ReportSource(double quantile) : quantile_(quantile) {}

  FleetMetrics Latest(const std::vector<nodes::NodeView>& nodes, TimePoint now) override {
    if (now - measured_at_ < kIntervalMin) return latest_;
    measured_at_ = now;
    Window window;
    std::map<std::string, Sample> next;
    bool complete = true;
    for (const nodes::NodeView& node : nodes) {
      if (!node.reported || !node.report->has_load()) continue;
      Sample sample{node.hello.incarnation(), node.report_at, node.report->load()};
      const auto before = samples_.find(node.hello.node());
      if (before == samples_.end() || before->second.incarnation != sample.incarnation) {
        complete = complete && before == samples_.end();
      } else if (sample.at > before->second.at) {
        AddDifference(before->second, sample, window);
      } else {
        sample = before->second;  // Nothing new: what it measured last stays the beginning of its next window.
      }
      next.emplace(node.hello.node(), std::move(sample));
    }
    samples_ = std::move(next);
    if (window.newest == TimePoint{}) return latest_;  // Its age tells that it is old.
    latest_ = complete ? MetricsOf(window, quantile_) : FleetMetrics{};
    return latest_;
  }

 private:
  const double quantile_;
  TimePoint measured_at_;
  std::map<std::string, Sample> samples_;  // By node.
  FleetMetrics latest_;
};

}  // namespace

std::unique_ptr<Source> MakeReportSource(const Query& query) {
  return std::make_unique<ReportSource>(query.latency_quantile);
}

}  // namespace longshore::metrics
