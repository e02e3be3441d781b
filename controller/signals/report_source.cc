#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "controller/decide/autoscale/load_window.h"
#include "controller/signals/signals.h"

namespace longshore::signals {
namespace {

using autoscale::FleetMetrics;
using autoscale::Tick;

constexpr Duration kIntervalMin = std::chrono::milliseconds(900);
constexpr double kFirstTickSeconds = 1;

struct Sample {
  std::string incarnation;
  MonotonicPoint at;
  control::NodeLoad load;
  std::optional<Tick> tick;  // The time that this report ends; nullopt for the first report of a node.
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

// What the node did between two of its reports.
Tick Between(const Sample& before, const Sample& now) {
  Tick tick{.seconds = std::chrono::duration<double>(now.at - before.at).count()};
  const int64_t started = now.load.started() - before.load.started();
  const int64_t refused = now.load.refused() - before.load.refused();
  const int64_t queued_more = now.load.queued() - before.load.queued();
  tick.arrivals = static_cast<double>(started + refused + queued_more);
  tick.started = static_cast<double>(started);
  tick.wait_seconds = now.load.queue_seconds() - before.load.queue_seconds();
  tick.busy_seconds = now.load.busy_seconds() - before.load.busy_seconds();
  tick.slots = static_cast<double>(now.load.concurrent_runs_max());
  tick.queued = static_cast<double>(now.load.queued());
  const auto earlier = TimesOf(before.load);
  for (auto& [model, buckets] : TimesOf(now.load)) {
    const auto known = earlier.find(model);
    tick.times[model] = Since(known == earlier.end() ? std::vector<int64_t>() : known->second, buckets);
  }
  return tick;
}

// Adds what a node did to the sum over the nodes, as if its time had been as long as that of the sum.
void Add(const Tick& node, Tick& sum) {
  const double scale = sum.seconds / node.seconds;
  sum.arrivals += node.arrivals * scale;
  sum.started += node.started * scale;
  sum.wait_seconds += node.wait_seconds * scale;
  sum.busy_seconds += node.busy_seconds * scale;
  sum.slots += node.slots;
  sum.queued += node.queued;
  sum.nodes += 1;
  for (const auto& [model, buckets] : node.times) {
    std::vector<int64_t>& times = sum.times[model];
    times.resize(std::max(times.size(), buckets.size()));
    for (size_t i = 0; i < buckets.size(); ++i) times[i] += buckets[i];
  }
}

class ReportSource final : public Source {
 public:
  ReportSource(std::vector<LatencyObjective> objectives, const MonotonicClock& clock)
      : objectives_(std::move(objectives)), clock_(clock) {}

  FleetMetrics Latest(const std::vector<nodes::ViewPtr>& ready, TimePoint wall_now) override {
    const MonotonicPoint now = clock_.Now();
    if (measured_at_ && now - *measured_at_ < kIntervalMin) return latest_;
    Tick sum{.seconds = measured_at_ ? std::chrono::duration<double>(now - *measured_at_).count() : kFirstTickSeconds};
    measured_at_ = now;
    MonotonicPoint oldest = MonotonicPoint::max();
    std::map<std::string, Sample> next;
    for (const nodes::ViewPtr& node : ready) {
      std::optional<Sample> sample = SampleOf(*node);
      if (!sample) continue;
      if (sample->tick && now - sample->at <= kReportAgeMax) {
        Add(*sample->tick, sum);
        oldest = std::min(oldest, sample->at);
      }
      next.emplace(node->hello.node(), std::move(*sample));
    }
    samples_ = std::move(next);
    const int measured = sum.nodes;
    if (measured == 0) {
      window_.Clear();
    } else {
      window_.Add(std::move(sum));
    }
    latest_ = window_.Now(objectives_, measured == 0 ? TimePoint() : wall_now - (now - oldest));
    latest_.nodes_measured = measured;
    latest_.nodes_missing = static_cast<int>(ready.size()) - measured;
    return latest_;
  }

 private:
  // Returns the newest report of the node and the time that it ends.
  std::optional<Sample> SampleOf(const nodes::NodeView& node) const {
    if (!node.reported || !node.report->has_load()) return std::nullopt;
    Sample sample{node.hello.incarnation(), node.report_at, node.report->load(), std::nullopt};
    const auto before = samples_.find(node.hello.node());
    if (before == samples_.end() || before->second.incarnation != sample.incarnation) return sample;
    if (sample.at <= before->second.at) return before->second;
    sample.tick = Between(before->second, sample);
    return sample;
  }

  const std::vector<LatencyObjective> objectives_;
  const MonotonicClock& clock_;
  std::optional<MonotonicPoint> measured_at_;
  std::map<std::string, Sample> samples_;  // Key: node.
  autoscale::LoadWindow window_;
  FleetMetrics latest_;
};

}  // namespace

std::unique_ptr<Source> MakeReportSource(const Query& query, const MonotonicClock& clock) {
  return std::make_unique<ReportSource>(query.latencies, clock);
}

}  // namespace longshore::signals
