#include "tests/sim/autoscale_world.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/buckets.h"
#include "controller/api/format.h"
#include "controller/api/parse.h"
#include "controller/api/units.h"

namespace longshore::sim {
namespace {

using autoscale::FleetMetrics;
using autoscale::Signal;

constexpr double kMeasuredAfterSeconds = 2;  // Two reports of a node must have arrived.
constexpr int kScrapeEvery = 5;
constexpr size_t kPrometheusWindow = 30;

}  // namespace

AutoscaleWorld::AutoscaleWorld(api::ServingFleetSpec spec, WorldOptions options)
    : spec_(std::move(spec)), options_(std::move(options)), random_(options_.seed) {
  nodes_.resize(static_cast<size_t>(options_.nodes), Node{.ready_at = -kMeasuredAfterSeconds});
  for (const SimulatedModel& model : options_.models) {
    if (model.objective_seconds > 0)
      objectives_.push_back({model.name, 0.99, api::DurationOf(model.objective_seconds)});
  }
  BeginSecond();
}

void AutoscaleWorld::BeginSecond() {
  tick_ = {.seconds = 1};
  refused_ = 0;
  queued_before_ = CountQueued();
  for (const SimulatedModel& model : options_.models) tick_.times[model.name];
}

Second AutoscaleWorld::Next(double requests_per_second) {
  BeginSecond();
  double arrived = 0;
  for (const double at : ArrivalTimes(requests_per_second)) {
    FinishUntil(at);
    Arrive(at);
    ++arrived;
  }
  now_ += 1;
  FinishUntil(now_);
  AddBusyUntil(now_);
  const int second = static_cast<int>(now_);
  if (options_.restart_every_s > 0 && second % options_.restart_every_s == 0) Restart();
  autoscale::Input input{.metrics = Measure(), .replicas = Wanted(), .ready = static_cast<int>(ReadyNodes().size())};
  AddNoise(input.metrics);
  if (second < blind_until_ || hidden_) input.metrics = {};
  status_ = autoscale::Decide(spec_, status_, input, kBegin + std::chrono::seconds(second));
  Scale(status_.desired);
  return {.at = second,
          .wanted = status_.desired,
          .ready = input.ready,
          .arrived = arrived,
          .refused = refused_,
          .queued = tick_.queued,
          .mean_wait_seconds = tick_.started > 0 ? tick_.wait_seconds / tick_.started : 0,
          .utilization = tick_.busy_seconds / std::max(input.ready * options_.slots, 1),
          .status = status_};
}

std::vector<double> AutoscaleWorld::ArrivalTimes(double requests_per_second) {
  std::vector<double> times;
  if (requests_per_second <= 0) return times;
  if (options_.arrivals == Arrivals::kEven) {
    const int count = static_cast<int>(std::lround(requests_per_second));
    for (int i = 0; i < count; ++i) times.push_back(now_ + (i + 0.5) / count);
    return times;
  }
  std::exponential_distribution gap(requests_per_second);
  for (double at = now_ + gap(random_); at < now_ + 1; at += gap(random_)) times.push_back(at);
  return times;
}

std::vector<size_t> AutoscaleWorld::ReadyNodes(double for_seconds) const {
  std::vector<size_t> ready;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].leaving && nodes_[i].ready_at + for_seconds <= now_) ready.push_back(i);
  }
  return ready;
}

double AutoscaleWorld::CountQueued() const {
  size_t queued = 0;
  for (const Node& node : nodes_) queued += node.queue.size();
  return static_cast<double>(queued);
}

void AutoscaleWorld::Arrive(double at) {
  Request request{.arrived = at};
  double pick = Uniform(0, 1);
  for (size_t i = 0; i + 1 < options_.models.size() && pick > options_.models[i].share; ++i) {
    pick -= options_.models[i].share;
    request.model = i + 1;
  }
  const std::vector<size_t> ready = ReadyNodes();
  if (ready.empty()) {
    ++refused_;
    return;
  }
  const auto any = [&] { return ready[std::uniform_int_distribution<size_t>(0, ready.size() - 1)(random_)]; };
  const auto load = [&](size_t node) { return nodes_[node].queue.size() + static_cast<size_t>(nodes_[node].running); };
  size_t chosen = any();
  if (const size_t other = any(); options_.routing == Routing::kTwoChoices && load(other) < load(chosen))
    chosen = other;
  Node& node = nodes_[chosen];
  if (node.running < options_.slots) return RunOn(chosen, request, at);
  if (node.queue.size() >= options_.queue_max) {
    ++refused_;
    return;
  }
  node.queue.push_back(request);
}

void AutoscaleWorld::FinishUntil(double until) {
  while (!running_.empty() && running_.top().at <= until) {
    const Completion done = running_.top();
    AddBusyUntil(done.at);
    running_.pop();
    --nodes_[done.node].running;
    std::vector<int64_t>& times = tick_.times[options_.models[done.request.model].name];
    const auto bucket = static_cast<size_t>(TimeBucketOf(api::DurationOf(done.at - done.request.arrived)));
    times.resize(std::max(times.size(), bucket + 1));
    ++times[bucket];
    StartQueued(done.node, done.at);
  }
}

void AutoscaleWorld::StartQueued(size_t index, double at) {
  Node& node = nodes_[index];
  while (node.running < options_.slots && !node.queue.empty()) {
    const Request request = node.queue.front();
    node.queue.pop_front();
    if (at - request.arrived > options_.patience_seconds) {
      ++refused_;
    } else {
      RunOn(index, request, at);
    }
  }
}

void AutoscaleWorld::RunOn(size_t node, const Request& request, double at) {
  const double run = Spread(options_.models[request.model].run_seconds, options_.run_spread);
  AddBusyUntil(at);
  ++nodes_[node].running;
  ++tick_.started;
  tick_.wait_seconds += at - request.arrived;
  running_.push({at + run, node, request});
}

// Adds the time since the last call for each run in progress.
void AutoscaleWorld::AddBusyUntil(double at) {
  tick_.busy_seconds += static_cast<double>(running_.size()) * (at - busy_until_);
  busy_until_ = at;
}

FleetMetrics AutoscaleWorld::Measure() {
  tick_.queued = CountQueued();
  tick_.arrivals = tick_.started + refused_ + tick_.queued - queued_before_;
  tick_.nodes = static_cast<int>(ReadyNodes().size());
  tick_.slots = tick_.nodes * options_.slots;
  history_.push_back(tick_);
  if (history_.size() > kPrometheusWindow) history_.pop_front();
  if (options_.metrics == Metrics::kPrometheus) {
    if (static_cast<int>(now_) % kScrapeEvery == 0) scraped_ = Scrape();
    return scraped_;
  }
  window_.Add(tick_);
  const int measured = static_cast<int>(ReadyNodes(kMeasuredAfterSeconds).size());
  if (measured == 0) window_.Clear();
  FleetMetrics metrics = window_.Now(objectives_, kBegin + std::chrono::seconds(static_cast<int>(now_)));
  metrics.nodes_measured = measured;
  metrics.nodes_missing = tick_.nodes - measured;
  return metrics;
}

// The rates of Prometheus are over the whole window, and its gauges are the newest ones.
FleetMetrics AutoscaleWorld::Scrape() const {
  autoscale::Tick sum = history_.back();
  for (auto tick = std::next(history_.rbegin()); tick != history_.rend(); ++tick) {
    sum.seconds += tick->seconds;
    sum.arrivals += tick->arrivals;
    sum.started += tick->started;
    sum.wait_seconds += tick->wait_seconds;
    sum.busy_seconds += tick->busy_seconds;
    for (const auto& [model, buckets] : tick->times) {
      std::vector<int64_t>& times = sum.times[model];
      times.resize(std::max(times.size(), buckets.size()));
      for (size_t i = 0; i < buckets.size(); ++i) times[i] += buckets[i];
    }
  }
  autoscale::LoadWindow window;
  window.Add(sum);
  const int measured = static_cast<int>(ReadyNodes(2 * kScrapeEvery).size());
  FleetMetrics metrics = window.Now(objectives_, kBegin + std::chrono::seconds(static_cast<int>(now_)));
  metrics.nodes_measured = measured;
  metrics.nodes_missing = tick_.nodes - measured;
  return metrics;
}

void AutoscaleWorld::AddNoise(FleetMetrics& metrics) {
  if (options_.noise == 0) return;
  const auto spread = [&](Signal& signal) { signal.value = Spread(signal.value, options_.noise); };
  spread(metrics.queue_delay_seconds);
  for (autoscale::ModelLatency& latency : metrics.latencies) spread(latency.seconds);
  spread(metrics.utilization);
  spread(metrics.demand.arrivals_per_second);
  spread(metrics.demand.node_capacity_per_second);
}

// A new controller knows only what is stored. Without a blind time only the decider is new, not the averages of
// metrics.
void AutoscaleWorld::Restart() {
  api::ServingFleetStatus stored;
  stored.autoscale = status_;
  status_ = api::ServingFleetStatusFromJson(api::ToJson(stored))->autoscale;
  blind_until_ = static_cast<int>(now_) + options_.blind_after_restart_s;
  if (options_.blind_after_restart_s > 0) window_.Clear();
}

int AutoscaleWorld::Wanted() const {
  return static_cast<int>(std::ranges::count_if(nodes_, [](const Node& node) { return !node.leaving; }));
}

// Nodes that still start leave first, then the newest.
void AutoscaleWorld::Scale(int wanted) {
  for (int i = Wanted(); i < wanted; ++i) {
    nodes_.push_back({.ready_at = now_ + Spread(options_.start_seconds, options_.start_spread)});
  }
  for (size_t i = nodes_.size(); i-- > 0 && Wanted() > wanted;) nodes_[i].leaving = true;
}

}  // namespace longshore::sim
