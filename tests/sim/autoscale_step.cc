#include "tests/sim/autoscale_step.h"

#include <algorithm>
#include <cmath>

#include "tests/sim/autoscale_world.h"

namespace longshore::sim {
namespace {

constexpr int kSettleSeconds = 60;
constexpr int kReplicasMax = 256;

// Runs one trial, and adds its result to the row.
void RunTrial(const StepOptions& options, uint64_t seed, StepRow& row) {
  api::ServingFleetSpec spec;
  spec.replicas_max = kReplicasMax;
  spec.autoscaling.emplace();
  const NodeSpeed speed;
  const double per_node = speed.slots / speed.run_seconds * spec.autoscaling->utilization_target;
  const int before = static_cast<int>(std::ceil(options.from_per_second / per_node));
  AutoscaleWorld world(spec, {.seed = seed, .slots = speed.slots, .start_seconds = row.start_seconds, .nodes = before});
  for (int second = 0; second < kSettleSeconds; ++second) world.Next(options.from_per_second);
  const double target = static_cast<double>(spec.autoscaling->queue_delay_target.count()) / 1e6;
  const int seconds = static_cast<int>(4 * row.start_seconds) + kSettleSeconds;
  int waited = seconds;
  for (int second = 1; second <= seconds; ++second) {
    const Second seen = world.Next(options.to_per_second);
    row.asked_max = std::max(row.asked_max, seen.wanted);
    const bool waits = seen.mean_wait_seconds > target;
    waited = waits ? seconds : std::min(waited, second);
  }
  row.drained_after_seconds = std::max(row.drained_after_seconds, static_cast<double>(waited));
}

}  // namespace

int NodesThatServe(double requests_per_second, NodeSpeed speed) {
  constexpr double kWaitSeconds = 0.1;
  constexpr double kShareMax = 0.01;
  const double load = requests_per_second * speed.run_seconds;
  for (int nodes = 1;; ++nodes) {
    const int slots = nodes * speed.slots;
    if (slots <= load) continue;
    // Erlang's B by its recursion, from which C follows.
    double blocked = 1;
    for (int i = 1; i <= slots; ++i) blocked = load * blocked / (i + load * blocked);
    const double waits = blocked / (1 - load / slots * (1 - blocked));
    if (waits * std::exp(-(slots - load) / speed.run_seconds * kWaitSeconds) <= kShareMax) return nodes;
  }
}

std::vector<StepRow> RunAutoscaleSteps(const StepOptions& options) {
  std::vector<StepRow> rows;
  for (const double start_seconds : options.start_seconds) {
    StepRow row{.start_seconds = start_seconds, .need = NodesThatServe(options.to_per_second, {})};
    for (int trial = 0; trial < options.trials; ++trial) {
      RunTrial(options, options.seed + static_cast<uint64_t>(trial), row);
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace longshore::sim
