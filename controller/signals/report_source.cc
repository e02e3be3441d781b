#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "common/base/buckets.h"
#include "controller/signals/signals.h"

namespace longshore::signals {
namespace {

using autoscale::FleetMetrics;
using autoscale::Presence;
using autoscale::Signal;

constexpr Duration kIntervalMin = std::chrono::milliseconds(900);

// The work of one node between two of its reports, or the sums over several nodes.
struct Window {
  double slot_seconds = 0;  // The number of run slots times the length of the window.
  double busy_seconds = 0;
  double queue_seconds = 0;
  int64_t started = 0;
  int64_t queued = 0;                                 // Number of requests that are waiting now.
  std::map<std::string, std::vector<int64_t>> times;  // Key: Model. Value: the buckets of NodeLoad.models.
  MonotonicPoint oldest = MonotonicPoint::max();      // Time of the report that ends it; of a sum: the earliest.
};

struct Sample {
  std::string incarnation;
  MonotonicPoint at;
  control::NodeLoad load;
  std::optional<Window> window;  // The window that this report ends; nullopt for the first report of a node.
};

std::map<std::string, std::vector<int64_t>> TimesOf(const control::NodeLoad& load) {
  std::map<std::string, std::vector<int64_t>> times;
  for (const control::ModelLoad& model : load.models()) {
    times[model.served_name()].assign(model.total_time_buckets().begin(), model.total_time_buckets().end());
  }
  return times;
}

// Returns the increase of the counts since `before`. A node that removed a Model and got it again counts from zero.
std::vector<int64_t> Since(const std::vector<int64_t>& before, std::vector<int64_t> now) {
  std::vector<int64_t> earlier = before;
  earlier.resize(std::max(before.size(), now.size()));
  now.resize(earlier.size());
  const bool began_again = !std::ranges::equal(earlier, now, std::less_equal());
  for (size_t i = 0; i < now.size() && !began_again; ++i) now[i] -= earlier[i];
  return now;
}

Window Between(const Sample& before, const Sample& now) {
  Window window;
  const double seconds = std::chrono::duration<double>(now.at - before.at).count();
  window.slot_seconds = seconds * static_cast<double>(now.load.concurrent_runs_max());
  window.busy_seconds = now.load.busy_seconds() - before.load.busy_seconds();
  window.queue_seconds = now.load.queue_seconds() - before.load.queue_seconds();
  window.started = now.load.started() - before.load.started();
  window.queued = now.load.queued();
  const auto earlier = TimesOf(before.load);
  for (auto& [model, buckets] : TimesOf(now.load)) {
    const auto known = earlier.find(model);
    window.times[model] = Since(known == earlier.end() ? std::vector<int64_t>() : known->second, buckets);
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
  for (const auto& [model, buckets] : window.times) {
    std::vector<int64_t>& times = sum.times[model];
    times.resize(std::max(times.size(), buckets.size()));
    for (size_t i = 0; i < buckets.size(); ++i) times[i] += buckets[i];
  }
  sum.oldest = std::min(sum.oldest, window.oldest);
}

Signal Value(double value, TimePoint at) { return {Presence::kValue, value, at}; }

Signal Quantile(const std::vector<int64_t>& buckets, double quantile, TimePoint at) {
  int64_t total = 0;
  for (const int64_t count : buckets) total += count;
  if (total == 0) return {Presence::kIdle, 0, at};
  double seen = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    seen += static_cast<double>(buckets[i]);
    if (seen < quantile * static_cast<double>(total)) continue;
    return Value(TimeBucketUpperMicroseconds(static_cast<int>(i)) * 1e-6, at);
  }
  return {};
}

FleetMetrics MetricsOf(const Window& window, TimePoint at) {
  FleetMetrics metrics;
  if (window.slot_seconds > 0) metrics.utilization = Value(window.busy_seconds / window.slot_seconds, at);
  if (window.started > 0) {
    metrics.queue_delay_seconds = Value(window.queue_seconds / static_cast<double>(window.started), at);
  } else if (window.queued == 0) {
    metrics.queue_delay_seconds = {Presence::kIdle, 0, at};
  }  // Otherwise requests wait and none was started: the delay is unknown.
  return metrics;
}

// Returns a latency for each objective; unknown if no node reports the Model.
std::vector<autoscale::ModelLatency> LatenciesOf(const Window& window, const std::vector<LatencyObjective>& objectives,
                                                 TimePoint at) {
  std::vector<autoscale::ModelLatency> latencies;
  for (const LatencyObjective& objective : objectives) {
    const auto times = window.times.find(objective.model);
    latencies.push_back({objective.model, objective.target,
                         times == window.times.end() ? Signal() : Quantile(times->second, objective.quantile, at)});
  }
  return latencies;
}

class ReportSource final : public Source {
 public:
  ReportSource(std::vector<LatencyObjective> objectives, const MonotonicClock& clock)
      : objectives_(std::move(objectives)), clock_(clock) {}

  FleetMetrics Latest(const std::vector<nodes::ViewPtr>& ready, TimePoint wall_now) override {
    const MonotonicPoint now = clock_.Now();
    if (measured_at_ && now - *measured_at_ < kIntervalMin) return latest_;
    measured_at_ = now;
    Window sum;
    int missing = 0;
    std::map<std::string, Sample> next;
    for (const nodes::ViewPtr& node : ready) {
      std::optional<Sample> sample = SampleOf(*node);
      const bool reports = sample && sample->window && now - sample->at <= kReportAgeMax;
      if (reports) Add(*sample->window, sum);
      if (!reports) ++missing;
      if (sample) next.emplace(node->hello.node(), std::move(*sample));
    }
    samples_ = std::move(next);
    const bool any = missing < static_cast<int>(ready.size());
    const TimePoint at = any ? wall_now - (now - sum.oldest) : TimePoint();
    latest_ = any ? MetricsOf(sum, at) : FleetMetrics{};
    latest_.latencies = LatenciesOf(sum, objectives_, at);
    latest_.nodes_measured = static_cast<int>(ready.size()) - missing;
    latest_.nodes_missing = missing;
    return latest_;
  }

 private:
  // Returns the newest report of the node and the window that it ends.
  std::optional<Sample> SampleOf(const nodes::NodeView& node) const {
    if (!node.reported || !node.report->has_load()) return std::nullopt;
    Sample sample{node.hello.incarnation(), node.report_at, node.report->load(), std::nullopt};
    const auto before = samples_.find(node.hello.node());
    if (before == samples_.end() || before->second.incarnation != sample.incarnation) return sample;
    if (sample.at <= before->second.at) return before->second;
    sample.window = Between(before->second, sample);
    return sample;
  }

  const std::vector<LatencyObjective> objectives_;
  const MonotonicClock& clock_;
  std::optional<MonotonicPoint> measured_at_;
  std::map<std::string, Sample> samples_;  // Key: node.
  FleetMetrics latest_;
};

}  // namespace

std::unique_ptr<Source> MakeReportSource(const Query& query, const MonotonicClock& clock) {
  return std::make_unique<ReportSource>(query.latencies, clock);
}

}  // namespace longshore::signals
