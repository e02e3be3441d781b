#include "controller/autoscale/autoscale.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "controller/api/format.h"

namespace longshore::autoscale {
namespace {

constexpr double kGrowthMax = 2;   // Of the replicas in one step.
constexpr double kDeadBand = 0.1;  // Utilisation this close to its target is at its target.
// Fewer nodes wait longer: scale down only from well below the targets of what users feel.
constexpr double kCalm = 0.5;

// One signal against its target.
struct Reading {
  std::string reason;  // "QueueDelay", "Latency", "Utilization".
  double value = 0;
  double target = 0;
  TimePoint at;
  bool known = false;
  bool proportional = false;  // Halves when the nodes double; true of utilisation alone.
  double Ratio() const { return value / target; }
};

bool IsFresh(const Signal& signal, Duration age_max, TimePoint now) {
  const Duration age = now - signal.at;
  return age <= age_max && age >= -age_max;
}

Reading Read(const std::string& reason, const Signal& signal, double target, Duration age_max, TimePoint now) {
  Reading reading{.reason = reason, .value = signal.value, .target = target, .at = signal.at};
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
  if (input.latency_target) {
    readings.push_back(Read("Latency", input.metrics.latency_seconds, Seconds(*input.latency_target), age_max, now));
  }
  readings.push_back(Read("Utilization", input.metrics.utilization, spec.utilization_target, age_max, now));
  readings.back().proportional = true;
  return readings;
}

// Nodes this signal asks for.
int Wanted(const Reading& reading, int replicas) {
  if (reading.proportional && std::abs(reading.Ratio() - 1) <= kDeadBand) return replicas;
  if (reading.Ratio() <= 1 && !reading.proportional) return replicas;
  const double wanted = replicas * std::min(reading.Ratio(), kGrowthMax);
  return std::max(static_cast<int>(std::ceil(wanted - 1e-9)), reading.Ratio() > 1 ? replicas + 1 : 0);
}

// What the status says of a decision, all of it together: without a reading there is no value, target or time of
// evidence.
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

// The signal that asks for most; null when none asks for more.
const Reading* Pressing(const std::vector<Reading>& readings, int replicas) {
  const Reading* most = nullptr;
  for (const Reading& reading : readings) {
    if (!reading.known || Wanted(reading, replicas) <= replicas) continue;
    if (most == nullptr || Wanted(reading, replicas) > Wanted(*most, replicas)) most = &reading;
  }
  return most;
}

// What keeps a fleet from being made smaller; "" when everything is known.
std::string MissingEvidence(const std::vector<Reading>& readings, const FleetMetrics& metrics) {
  for (const Reading& reading : readings) {
    if (!reading.known) return reading.reason + " is unknown or too old";
  }
  if (metrics.nodes_missing == 0) return "";
  return fmt::format("the metrics tell nothing of {} ready nodes", metrics.nodes_missing);
}

// What fewer nodes could do, when everything is calm; otherwise what there is.
int Recommended(const std::vector<Reading>& readings, int replicas) {
  for (const Reading& reading : readings) {
    if (!reading.proportional && reading.Ratio() > kCalm) return replicas;
  }
  return std::min(replicas, std::max(Wanted(readings.back(), replicas), 1));
}

api::AutoscaleStatus Up(const api::ServingFleetSpec& spec, api::AutoscaleStatus status, const Reading& reading,
                        int replicas, TimePoint now) {
  status.recommendations.clear();
  const int wanted = std::min(Wanted(reading, replicas), spec.replicas_max);
  if (wanted <= replicas) {
    if (status.reason == "AtMaximum") return status;
    return Set(
        std::move(status), replicas,
        {"AtMaximum", fmt::format("{} is above its target, but {} nodes are the maximum", reading.reason, replicas),
         &reading});
  }
  if (now - status.last_scale_up < spec.autoscaling->scale_up_cooldown) {
    status.desired = replicas;
    return status;
  }
  status.last_scale_up = now;
  const std::string message = fmt::format("{} {:.4g} is above {:.4g}: from {} to {} nodes", reading.reason,
                                          reading.value, reading.target, replicas, wanted);
  return Set(std::move(status), wanted, {reading.reason, message, &reading});
}

bool ExplainsReplicas(const std::string& reason) {
  return reason == "Steady" || reason == "QueueDelay" || reason == "Latency" || reason == "Utilization" ||
         reason == "Idle";
}

// Keeps one entry: since when fewer nodes would have been enough at every look, and how many at most.
api::AutoscaleStatus Down(const api::ServingFleetSpec& spec, api::AutoscaleStatus status,
                          const std::vector<Reading>& readings, int replicas, TimePoint now) {
  const int enough = std::max(Recommended(readings, replicas), spec.replicas_min);
  if (enough >= replicas) {
    status.recommendations.clear();
    // The reason of the last change stays: it is why there are so many nodes.
    if (status.desired == replicas && ExplainsReplicas(status.reason)) return status;
    return Set(std::move(status), replicas, {"Steady", "every signal is at its target", &readings.back()});
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
               : Set({}, spec.replicas_min, {"Fixed", "no autoscaling in the spec"});
  }
  if (replicas != input.replicas) {
    status.recommendations.clear();
    const std::string message =
        fmt::format("{} nodes are outside {} to {}", input.replicas, spec.replicas_min, spec.replicas_max);
    return Set(std::move(status), replicas, {"Bounds", message});
  }
  const std::vector<Reading> readings = ReadAll(*spec.autoscaling, input, now);
  if (const Reading* pressing = Pressing(readings, replicas))
    return Up(spec, std::move(status), *pressing, replicas, now);
  if (const std::string missing = MissingEvidence(readings, input.metrics); !missing.empty()) {
    status.recommendations.clear();
    return Set(std::move(status), replicas, {"NoEvidence", missing + ": no node is taken away"});
  }
  return Down(spec, std::move(status), readings, replicas, now);
}

}  // namespace longshore::autoscale
