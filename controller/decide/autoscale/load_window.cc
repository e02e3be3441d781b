#include "controller/decide/autoscale/load_window.h"

#include <algorithm>
#include <utility>

#include "common/base/buckets.h"

namespace longshore::autoscale {
namespace {

Signal Value(double value, TimePoint at) { return {Presence::kValue, value, at}; }

void Add(const Tick& tick, Tick& sum) {
  sum.seconds += tick.seconds;
  sum.arrivals += tick.arrivals;
  sum.started += tick.started;
  sum.wait_seconds += tick.wait_seconds;
  sum.busy_seconds += tick.busy_seconds;
}

int64_t CountOf(const std::vector<int64_t>& buckets) {
  int64_t count = 0;
  for (const int64_t each : buckets) count += each;
  return count;
}

Signal QuantileOf(const std::vector<int64_t>& buckets, double quantile, TimePoint at) {
  const auto total = static_cast<double>(CountOf(buckets));
  if (total == 0) return {Presence::kIdle, 0, at};
  double seen = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    seen += static_cast<double>(buckets[i]);
    if (seen >= quantile * total) return Value(TimeBucketUpperMicroseconds(static_cast<int>(i)) * 1e-6, at);
  }
  return {};
}

// The counts of the newest ticks that have kRequestsMin requests of this model. Only as long as nodes report the model,
// its counts have buckets.
Signal LatencyOf(const std::deque<Tick>& ticks, const LatencyObjective& objective, TimePoint at) {
  if (!ticks.front().times.contains(objective.model)) return {};
  std::vector<int64_t> sum;
  for (const Tick& tick : ticks) {
    const auto times = tick.times.find(objective.model);
    if (times == tick.times.end() || static_cast<double>(CountOf(sum)) >= LoadWindow::kRequestsMin) break;
    sum.resize(std::max(sum.size(), times->second.size()));
    for (size_t i = 0; i < times->second.size(); ++i) sum[i] += times->second[i];
  }
  return QuantileOf(sum, objective.quantile, at);
}

}  // namespace

void LoadWindow::Add(Tick tick) {
  ticks_.push_front(std::move(tick));
  double seconds = 0;
  for (const Tick& each : ticks_) seconds += each.seconds;
  for (; ticks_.size() > 1 && seconds > kWindowMaxSeconds; ticks_.pop_back()) seconds -= ticks_.back().seconds;
}

FleetMetrics LoadWindow::Now(const std::vector<LatencyObjective>& objectives, TimePoint at) const {
  FleetMetrics metrics;
  for (const LatencyObjective& objective : objectives) {
    metrics.latencies.push_back(
        {objective.model, objective.target, ticks_.empty() ? Signal() : LatencyOf(ticks_, objective, at)});
  }
  if (ticks_.empty()) return metrics;
  const Tick& newest = ticks_.front();
  Tick recent;
  Tick all;
  for (const Tick& tick : ticks_) {
    if (recent.arrivals < kRequestsMin) autoscale::Add(tick, recent);
    autoscale::Add(tick, all);
  }
  // While requests wait and none is started, the delay is unknown.
  const bool stuck = newest.started == 0 && newest.queued > 0;
  if (recent.started > 0 && !stuck) metrics.queue_delay_seconds = Value(recent.wait_seconds / recent.started, at);
  if (recent.started == 0 && !stuck) metrics.queue_delay_seconds = {Presence::kIdle, 0, at};
  // There may have been more nodes than now.
  const double busy_slots = std::min(recent.busy_seconds / recent.seconds, newest.slots);
  if (newest.slots > 0) metrics.utilization = Value(busy_slots / newest.slots, at);
  metrics.demand.arrivals_per_second = Value(std::max(recent.arrivals / recent.seconds, 0.0), at);
  metrics.demand.queued = Value(newest.queued, at);
  if (all.started > 0 && all.busy_seconds > 0 && newest.nodes > 0) {
    const double slots_per_node = newest.slots / newest.nodes;
    metrics.demand.node_capacity_per_second = Value(all.started / all.busy_seconds * slots_per_node, at);
  }
  return metrics;
}

}  // namespace longshore::autoscale
