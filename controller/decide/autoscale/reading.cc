#include "controller/decide/autoscale/reading.h"

#include <fmt/format.h>

#include <cmath>

namespace longshore::autoscale {
namespace {

bool IsFresh(const Signal& signal, Duration age_max, TimePoint now) {
  const Duration age = now - signal.at;
  return age <= age_max && age >= -age_max;
}

double ValueOf(const Signal& signal) { return signal.presence == Presence::kIdle ? 0 : signal.value; }

bool IsKnown(const Signal& signal, Duration age_max, TimePoint now) {
  const double value = ValueOf(signal);
  const bool sound = std::isfinite(value) && value >= 0;
  return signal.presence != Presence::kUnknown && sound && IsFresh(signal, age_max, now);
}

}  // namespace

bool Reading::IsAboveTarget() const { return known && Ratio() > (proportional ? 1 + kDeadBand : 1); }

std::string Reading::AboveTarget() const {
  const char* unit = proportional ? "" : " s";
  return fmt::format("{} {:.4g}{} is above {:.4g}{}", what, value, unit, target, unit);
}

std::vector<Reading> ReadAll(const api::Autoscaling& spec, const FleetMetrics& metrics, TimePoint now) {
  std::vector<Reading> readings;
  const auto read = [&](const std::string& reason, const std::string& what, const Signal& signal, double target) {
    readings.push_back({.reason = reason,
                        .what = what,
                        .value = ValueOf(signal),
                        .target = target,
                        .at = signal.at,
                        .known = IsKnown(signal, spec.metrics_age_max, now)});
  };
  read("QueueDelay", "QueueDelay", metrics.queue_delay_seconds, Seconds(spec.queue_delay_target));
  for (const ModelLatency& latency : metrics.latencies) {
    read("Latency", "Latency of " + latency.model, latency.seconds, Seconds(latency.target));
  }
  read("Utilization", "Utilization", metrics.utilization, spec.utilization_target);
  readings.back().proportional = true;
  return readings;
}

std::optional<Rates> ReadDemand(const api::Autoscaling& spec, const Demand& demand, TimePoint now) {
  const auto known = [&](const Signal& signal) { return IsKnown(signal, spec.metrics_age_max, now); };
  if (!known(demand.arrivals_per_second) || !known(demand.node_capacity_per_second)) return std::nullopt;
  if (ValueOf(demand.node_capacity_per_second) <= 0) return std::nullopt;
  return Rates{.arrivals_per_second = ValueOf(demand.arrivals_per_second),
               .node_capacity_per_second = ValueOf(demand.node_capacity_per_second),
               .queued = known(demand.queued) ? ValueOf(demand.queued) : 0};
}

const Reading* FurthestDelay(const std::vector<Reading>& readings) {
  const Reading* furthest = nullptr;
  for (const Reading& reading : readings) {
    if (reading.proportional || !reading.IsAboveTarget()) continue;
    if (furthest == nullptr || reading.Ratio() > furthest->Ratio()) furthest = &reading;
  }
  return furthest;
}

}  // namespace longshore::autoscale
