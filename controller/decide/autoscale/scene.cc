#include "controller/decide/autoscale/scene.h"

#include <cmath>

#include "controller/decide/autoscale/starts.h"

namespace longshore::autoscale {
namespace {

// Fewer nodes make requests wait longer, so the fleet shrinks only if latency and queue delay are below this share of
// their targets.
constexpr double kCalm = 0.5;
// Below this share of the target for the utilization, nodes are mostly idle.
constexpr double kIdleShare = 0.25;

double IdleUtilization(const Scene& scene) { return kIdleShare * scene.autoscaling().utilization_target; }

double TargetOf(const Scene& scene, const api::AutoscaleStatus& status) {
  const double target = scene.autoscaling().utilization_target;
  return status.utilization_limit.share > 0 ? std::min(target, status.utilization_limit.share) : target;
}

}  // namespace

int RoundUp(double nodes) {
  constexpr double kMost = 1e6;
  return static_cast<int>(std::ceil(std::min(nodes, kMost) - 1e-9));
}

std::optional<double> NodesAt(double utilization, const Scene& scene) {
  if (scene.rates) return NodesAt(utilization, *scene.rates);
  if (!scene.utilization().known || scene.measured() == 0) return std::nullopt;
  return scene.utilization().value * scene.measured() / utilization;
}

int Needed(const Scene& scene, const api::AutoscaleStatus& status) {
  const double to_serve = NodesAt(scene.autoscaling().utilization_target, scene).value_or(0) / (1 + kDeadBand);
  if (!scene.rates) return RoundUp(to_serve);
  const Nodes nodes{.wanted = scene.replicas(), .ready = scene.input.ready};
  const Supply supply{
      .ready = nodes.ready, .coming = ComingOf(status, nodes, scene.now), .start_time = StartTimeOf(status)};
  return RoundUp(std::max(to_serve, NodesToDrain(*scene.rates, supply, scene.autoscaling().queue_delay_target)));
}

bool IsDraining(const Scene& scene) {
  constexpr double kTargetsMax = 10;
  const double target = Seconds(scene.autoscaling().queue_delay_target);
  return scene.rates && scene.rates->queued > kTargetsMax * target * scene.rates->arrivals_per_second;
}

bool IsMostlyIdle(const Scene& scene) {
  const auto nodes = NodesAt(IdleUtilization(scene), scene);
  return nodes && *nodes <= scene.measured();
}

bool IsCalm(const Scene& scene) {
  return std::ranges::all_of(scene.readings,
                             [](const Reading& reading) { return reading.proportional || reading.Ratio() <= kCalm; });
}

int Enough(const Scene& scene, const api::AutoscaleStatus& status) {
  const double utilization = IsCalm(scene) ? TargetOf(scene, status) : IdleUtilization(scene);
  double nodes = NodesAt(utilization, scene).value_or(scene.replicas());
  // If only the utilization is known, nodes that it does not cover may be as busy as the target.
  if (!scene.rates) nodes += scene.replicas() - scene.measured();
  if (nodes > scene.replicas() * (1 - kDeadBand)) return scene.replicas();
  return std::max({RoundUp(nodes), 1, scene.spec.replicas_min});
}

}  // namespace longshore::autoscale
