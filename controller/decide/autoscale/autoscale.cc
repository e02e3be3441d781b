#include "controller/decide/autoscale/autoscale.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "controller/api/format.h"

namespace longshore::autoscale {
namespace {

constexpr double kGrowthMax = 2;   // Maximum factor by which the number of nodes grows in one step.
constexpr double kDeadBand = 0.1;  // A utilization that is within this share of its target counts as at its target.
// Fewer nodes make requests wait longer, so the fleet shrinks only if latency and queue delay are below this share of
// their targets.
constexpr double kCalm = 0.5;

// The numbers of nodes that a decision uses.
struct Nodes {
  int replicas = 0;  // The wanted number of nodes at present.
  int measured = 0;  // How many of them the signals cover.
};

// One signal with its target.
struct Reading {
  std::string reason;  // "QueueDelay", "Latency", "Utilization".
  std::string what;    // Name of the signal for users: "Latency of digits".
  double value = 0;
  double target = 0;
  TimePoint at;
  bool known = false;
  bool proportional = false;  // Whether the value halves if the number of nodes doubles; true only of utilization.
  double Ratio() const { return value / target; }
  // For example "QueueDelay 0.02 s is above 0.01 s". The utilization is a share, which has no unit.
  std::string AboveTarget() const {
    const char* unit = proportional ? "" : " s";
    return fmt::format("{} {:.4g}{} is above {:.4g}{}", what, value, unit, target, unit);
  }
};

bool IsFresh(const Signal& signal, Duration age_max, TimePoint now) {
  const Duration age = now - signal.at;
  return age <= age_max && age >= -age_max;
}

Reading Read(const std::string& reason, const Signal& signal, double target, Duration age_max, TimePoint now) {
  Reading reading{.reason = reason, .what = reason, .value = signal.value, .target = target, .at = signal.at};
  if (signal.presence == Presence::kIdle) reading.value = 0;
  const bool sound = std::isfinite(reading.value) && reading.value >= 0;
  reading.known = signal.presence != Presence::kUnknown && sound && IsFresh(signal, age_max, now);
  return reading;
}

double Seconds(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }

std::vector<Reading> ReadAll(const api::Autoscaling& spec, const Input& input, TimePoint now) {
  const Duration age_max = spec.metrics_age_max;
  std::vector<Reading> readings;
  readings.push_back(
      Read("QueueDelay", input.metrics.queue_delay_seconds, Seconds(spec.queue_delay_target), age_max, now));
  for (const ModelLatency& latency : input.metrics.latencies) {
    readings.push_back(Read("Latency", latency.seconds, Seconds(latency.target), age_max, now));
    readings.back().what = "Latency of " + latency.model;
  }
  readings.push_back(Read("Utilization", input.metrics.utilization, spec.utilization_target, age_max, now));
  readings.back().proportional = true;
  return readings;
}

bool IsAboveTarget(const Reading& reading) {
  return reading.known && reading.Ratio() > (reading.proportional ? 1 + kDeadBand : 1);
}

// The number of nodes that this signal asks for: never fewer than now if it is above its target, never more if it is
// below.
int Wanted(const Reading& reading, const Nodes& nodes) {
  const double ratio = reading.Ratio();
  if (ratio <= 1 && !reading.proportional) return nodes.replicas;
  const double busy_as_targeted = ratio > 1 ? 0 : nodes.replicas - nodes.measured;
  const double needed = std::min(ratio, kGrowthMax) * nodes.measured + busy_as_targeted;
  if (reading.proportional && std::abs(needed / nodes.replicas - 1) <= kDeadBand) return nodes.replicas;
  const int wanted = static_cast<int>(std::ceil(needed - 1e-9));
  if (ratio <= 1) return std::min(wanted, nodes.replicas);
  return std::max({wanted, nodes.measured + 1, nodes.replicas});
}

// Why a decision was made. Without a reading, the value, target and evidence time of the status are empty.
struct Reason {
  std::string reason;
  std::string message;
  const Reading* reading = nullptr;
};

api::AutoscaleStatus Set(api::AutoscaleStatus status, int desired, const Reason& why) {
  const Reading reading = why.reading == nullptr ? Reading{} : *why.reading;
  status.desired = desired;
  status.reason = why.reason;
  status.message = why.message;
  status.value = reading.value;
  status.target = reading.target;
  status.evidence_at = reading.at;
  return status;
}

// The signal that asks for the most nodes; nullptr if none asks for more than now.
const Reading* Pressing(const std::vector<Reading>& readings, const Nodes& nodes) {
  const Reading* most = nullptr;
  for (const Reading& reading : readings) {
    if (!reading.known || Wanted(reading, nodes) <= nodes.replicas) continue;
    if (most == nullptr || Wanted(reading, nodes) > Wanted(*most, nodes)) most = &reading;
  }
  return most;
}

// The first signal above its target for which the unmeasured nodes may be enough; nullptr if there is none.
const Reading* Awaiting(const std::vector<Reading>& readings, const Nodes& nodes) {
  if (nodes.measured >= nodes.replicas) return nullptr;
  const auto found = std::ranges::find_if(readings, IsAboveTarget);
  return found == readings.end() ? nullptr : &*found;
}

// Why the fleet cannot be scaled down; "" if all signals are known and cover all ready nodes.
std::string MissingEvidence(const std::vector<Reading>& readings, const FleetMetrics& metrics) {
  for (const Reading& reading : readings) {
    if (!reading.known) return reading.what + " is unknown or too old";
  }
  if (metrics.nodes_missing == 0) return "";
  return fmt::format("the metrics do not cover {} ready nodes", metrics.nodes_missing);
}

// The smallest sufficient number of nodes if queue delay and latencies are at most kCalm of their targets; otherwise
// the current number of nodes.
int Recommended(const std::vector<Reading>& readings, const Nodes& nodes) {
  for (const Reading& reading : readings) {
    if (!reading.proportional && reading.Ratio() > kCalm) return nodes.replicas;
  }
  return std::min(nodes.replicas, std::max(Wanted(readings.back(), nodes), 1));
}

api::AutoscaleStatus Up(const api::ServingFleetSpec& spec, api::AutoscaleStatus status, const Reading& reading,
                        const Nodes& nodes, TimePoint now) {
  status.recommendations.clear();
  const int replicas = nodes.replicas;
  const int wanted = std::min(Wanted(reading, nodes), spec.replicas_max);
  if (wanted <= replicas) {
    if (status.reason == "AtMaximum") return status;
    return Set(std::move(status), replicas,
               {"AtMaximum",
                fmt::format("{} is above its target, but {} nodes are the maximum", reading.what, replicas), &reading});
  }
  if (now - status.last_scale_up < spec.autoscaling->scale_up_cooldown) {
    status.desired = replicas;
    return status;
  }
  status.last_scale_up = now;
  const std::string message = fmt::format("{}: from {} to {} nodes", reading.AboveTarget(), replicas, wanted);
  return Set(std::move(status), wanted, {reading.reason, message, &reading});
}

bool ExplainsReplicas(const std::string& reason) {
  return reason == "Steady" || reason == "QueueDelay" || reason == "Latency" || reason == "Utilization" ||
         reason == "Idle";
}

// Waits until all nodes are measured: more nodes are needed than the signals cover, but not more than exist.
api::AutoscaleStatus Await(api::AutoscaleStatus status, const Reading& reading, const Nodes& nodes) {
  status.recommendations.clear();
  // The reason of a scale-up stays while the added nodes start.
  const bool explains = status.reason == "QueueDelay" || status.reason == "Latency" || status.reason == "Utilization";
  if (status.desired == nodes.replicas && explains) return status;
  const std::string message = reading.AboveTarget() + "; waiting for nodes that are not measured yet";
  return Set(std::move(status), nodes.replicas, {reading.reason, message, &reading});
}

// Keeps one entry in `status.recommendations`: the time since which fewer nodes would have been enough, and the largest
// number of nodes that was needed since then.
api::AutoscaleStatus Down(const api::ServingFleetSpec& spec, api::AutoscaleStatus status,
                          const std::vector<Reading>& readings, const Nodes& nodes, TimePoint now) {
  const int replicas = nodes.replicas;
  const int enough = std::max(Recommended(readings, nodes), spec.replicas_min);
  if (enough >= replicas) {
    status.recommendations.clear();
    // The reason of the last change stays, because it explains the current number of nodes.
    if (status.desired == replicas && ExplainsReplicas(status.reason)) return status;
    return Set(std::move(status), replicas,
               {"Steady", "no signal asks for more nodes, and no node can be removed", &readings.back()});
  }
  if (status.recommendations.empty()) status.recommendations.emplace_back(now, enough);
  auto& [since, most] = status.recommendations.front();
  most = std::max(most, enough);
  if (now - since < spec.autoscaling->scale_down_stabilization) {
    status.desired = replicas;
    return status;
  }
  const int to = most;
  const std::string waited = api::FormatDuration(std::chrono::duration_cast<std::chrono::seconds>(now - since));
  status.recommendations.clear();
  const std::string message = fmt::format("{} nodes were enough for {}: from {} to {} nodes", to, waited, replicas, to);
  return Set(std::move(status), to, {readings.back().value == 0 ? "Idle" : "Utilization", message, &readings.back()});
}

}  // namespace

api::AutoscaleStatus Decide(const api::ServingFleetSpec& spec, const api::AutoscaleStatus& before, const Input& input,
                            TimePoint now) {
  api::AutoscaleStatus status = before;
  const int replicas = std::clamp(input.replicas, spec.replicas_min, spec.replicas_max);
  if (!spec.autoscaling) {
    return before.desired == spec.replicas_min && before.reason == "Fixed"
               ? before
               : Set({}, spec.replicas_min, {"Fixed", "the spec has no autoscaling"});
  }
  if (replicas != input.replicas) {
    status.recommendations.clear();
    const std::string message =
        fmt::format("{} nodes are outside the bounds {} to {}", input.replicas, spec.replicas_min, spec.replicas_max);
    return Set(std::move(status), replicas, {"Bounds", message});
  }
  const std::vector<Reading> readings = ReadAll(*spec.autoscaling, input, now);
  const Nodes nodes{replicas, std::clamp(input.metrics.nodes_measured, 0, replicas)};
  if (const Reading* pressing = Pressing(readings, nodes)) return Up(spec, std::move(status), *pressing, nodes, now);
  if (const Reading* awaiting = Awaiting(readings, nodes)) return Await(std::move(status), *awaiting, nodes);
  if (const std::string missing = MissingEvidence(readings, input.metrics); !missing.empty()) {
    status.recommendations.clear();
    return Set(std::move(status), replicas, {"NoEvidence", missing + ": no node is removed"});
  }
  return Down(spec, std::move(status), readings, nodes, now);
}

}  // namespace longshore::autoscale
