#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "common/buckets.h"
#include "controller/metrics/metrics.h"

namespace longshore::metrics {
namespace {

using autoscale::FleetMetrics;
using autoscale::Presence;
using autoscale::Signal;

constexpr Duration kIntervalMin = std::chrono::milliseconds(900);

// What happened on a node between two reports, or the sum of that over the nodes.
struct Window {
  double slot_seconds = 0;  // Time that all run slots had.
  double busy_seconds = 0;
  double queue_seconds = 0;
  int64_t started = 0;
  int64_t queued = 0;  // Waiting now.
  std::vector<int64_t> total_time_buckets;
  MonotonicPoint oldest = MonotonicPoint::max();  // Of the reports that end it.
};

struct Sample {
  std::string incarnation;
  MonotonicPoint at;
  control::NodeLoad load;
  std::optional<Window> window;  // That it ends; a node's first report ends none.
};

Window Between(const Sample& before, const Sample& now) {
  Window window;
  const double seconds = std::chrono::duration<double>(now.at - before.at).count();
  window.slot_seconds = seconds * static_cast<double>(now.load.concurrent_runs_max());
  window.busy_seconds = now.load.busy_seconds() - before.load.busy_seconds();
  window.queue_seconds = now.load.queue_seconds() - before.load.queue_seconds();
  window.started = now.load.started() - before.load.started();
  window.queued = now.load.queued();
  const auto& buckets = now.load.total_time_buckets();
  for (int i = 0; i < buckets.size(); ++i) {
    const int64_t earlier = i < before.load.total_time_buckets_size() ? before.load.total_time_buckets(i) : 0;
    window.total_time_buckets.push_back(buckets[i] - earlier);
  }
  window.oldest = now.at;
  return window;
}

void Add(const Window& window, Window& sum) {
  sum.slot_seconds += window.slot_seconds;
  sum.busy_seconds += window.busy_seconds;
  sum.queue_seconds += window.queue_seconds;
  sum.started += window.started;
  sum.queued += window.queued;
  sum.total_time_buckets.resize(std::max(sum.total_time_buckets.size(), window.total_time_buckets.size()));
  for (size_t i = 0; i < window.total_time_buckets.size(); ++i) {
    sum.total_time_buckets[i] += window.total_time_buckets[i];
  }
  sum.oldest = std::min(sum.oldest, window.oldest);
}

Signal Value(double value, TimePoint at) { return {Presence::kValue, value, at}; }

Signal Quantile(const Window& window, double quantile, TimePoint at) {
  int64_t total = 0;
  for (const int64_t count : window.total_time_buckets) total += count;
  if (total == 0) return {Presence::kIdle, 0, at};
  double seen = 0;
  for (size_t i = 0; i < window.total_time_buckets.size(); ++i) {
    seen += static_cast<double>(window.total_time_buckets[i]);
    if (seen < quantile * static_cast<double>(total)) continue;
    return Value(TimeBucketUpperMicroseconds(static_cast<int>(i)) * 1e-6, at);
  }
  return {};
}

FleetMetrics MetricsOf(const Window& window, double quantile, TimePoint at) {
  FleetMetrics metrics;
  if (window.slot_seconds > 0) metrics.utilization = Value(window.busy_seconds / window.slot_seconds, at);
  if (window.started > 0) {
    metrics.queue_delay_seconds = Value(window.queue_seconds / static_cast<double>(window.started), at);
  } else if (window.queued == 0) {
    metrics.queue_delay_seconds = {Presence::kIdle, 0, at};
  }  // Requests wait and none was started: how long they wait is not known.
  metrics.latency_seconds = Quantile(window, quantile, at);
  return metrics;
}

class ReportSource final : public Source {
 public:
  ReportSource(double quantile, const MonotonicClock& clock) : quantile_(quantile), clock_(clock) {}

  FleetMetrics Latest(const std::vector<nodes::ViewPtr>& ready, TimePoint wall_now) override {
    const MonotonicPoint now = clock_.Now();
    if (measured_at_ && now - *measured_at_ < kIntervalMin) return latest_;
    measured_at_ = now;
    Window sum;
    int missing = 0;
    std::map<std::string, Sample> next;
    for (const nodes::ViewPtr& node : ready) {
      std::optional<Sample> sample = SampleOf(*node);
      const bool tells = sample && sample->window && now - sample->at <= kSilentAfter;
      if (tells) Add(*sample->window, sum);
      if (!tells) ++missing;
      if (sample) next.emplace(node->hello.node(), std::move(*sample));
    }
    samples_ = std::move(next);
    const bool any = missing < static_cast<int>(ready.size());
    latest_ = any ? MetricsOf(sum, quantile_, wall_now - (now - sum.oldest)) : FleetMetrics{};
    latest_.nodes_missing = missing;
    return latest_;
  }

 private:
  // The newest report with the window that it ends.
  std::optional<Sample> SampleOf(const nodes::NodeView& node) const {
    if (!node.reported || !node.report->has_load()) return std::nullopt;
    Sample sample{node.hello.incarnation(), node.report_at, node.report->load(), std::nullopt};
    const auto before = samples_.find(node.hello.node());
    if (before == samples_.end() || before->second.incarnation != sample.incarnation) return sample;
    if (sample.at <= before->second.at) return before->second;
    sample.window = Between(before->second, sample);
    return sample;
  }

  const double quantile_;
  const MonotonicClock& clock_;
  std::optional<MonotonicPoint> measured_at_;
  std::map<std::string, Sample> samples_;  // By node.
  FleetMetrics latest_;
};

}  // namespace

std::unique_ptr<Source> MakeReportSource(const Query& query, const MonotonicClock& clock) {
  return std::make_unique<ReportSource>(query.latency_quantile, clock);
}

}  // namespace longshore::metrics
