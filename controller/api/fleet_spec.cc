#include "controller/api/fields.h"
#include "controller/api/specs.h"

namespace longshore::api {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kReplicasMax = 1000;
constexpr int kModelsMax = 100000;
constexpr size_t kNamespacesMax = 256;

void ReadReplicas(Fields& replicas, ServingFleetSpec& out) {
  replicas.Integer("min", out.replicas_min, 1, kReplicasMax);
  out.replicas_max = out.replicas_min;
  replicas.Integer("max", out.replicas_max, 1, kReplicasMax);
  if (out.replicas_max < out.replicas_min) {
    replicas.Refuse("max", fmt::format("{} is below min {}", out.replicas_max, out.replicas_min));
  }
}

void ReadPorts(Fields& ports, ServingFleetSpec& out) {
  // In a cluster, this is the port of a Service, which cannot be 0 (any free port).
  const int64_t min = ports.reader().home() == Home::kCluster ? 1 : 0;
  ports.Integer("grpc", out.grpc_port, min, 65535);
  ports.Integer("rest", out.rest_port, min, 65535);
  if (out.grpc_port != 0 && out.grpc_port == out.rest_port) {
    ports.Refuse("rest", fmt::format("{} is also the grpc port", out.rest_port));
  }
}

void ReadAutoscaling(Fields& autoscaling, Autoscaling& out) {
  autoscaling.Time("queueDelay", out.queue_delay_target, std::chrono::microseconds(100), hours(1));
  autoscaling.Share("utilization", out.utilization_target);
  if (out.utilization_target < 0.01) autoscaling.Refuse("utilization", "must be at least 1%");
  autoscaling.Object(
      "prometheus", [&](Fields& prometheus) { prometheus.Text("url", out.prometheus_url, kHttpUrl, Need::kRequired); });
  autoscaling.Time("metricsAgeMax", out.metrics_age_max, milliseconds(100), hours(1));
  autoscaling.Time("scaleDownStabilization", out.scale_down_stabilization, Duration(0), hours(24));
  autoscaling.Time("scaleUpCooldown", out.scale_up_cooldown, Duration(0), hours(1));
}

void ReadAllowedNamespaces(Fields& allowed, AllowedNamespaces& out) {
  enum class From { kSame, kAll, kNames } from = From::kSame;
  allowed.Choice<From>("from", from, {{"Same", From::kSame}, {"All", From::kAll}, {"Names", From::kNames}});
  allowed.TextSet("names", kNamespacesMax, kNamespace, out.names);
  out.all = from == From::kAll;
  if (allowed.Has("names") && out.names.empty()) allowed.Refuse("names", "is empty");
  if ((from == From::kNames) == out.names.empty()) {
    allowed.Refuse("names", "is required with `from: Names`, and not allowed otherwise");
  }
}

}  // namespace

ServingFleetSpec ReadServingFleetSpec(Fields& spec) {
  ServingFleetSpec out;
  spec.Object("replicas", [&](Fields& replicas) { ReadReplicas(replicas, out); });
  spec.Object("ports", [&](Fields& ports) { ReadPorts(ports, out); });
  spec.Object("engine", [&](Fields& engine) {
    engine.Integer("concurrentRuns", out.concurrent_runs_max, 0, 4096);
    engine.Time("simulatedRun", out.simulated_run, Duration(0), seconds(60));
  });
  spec.Time("connectionAgeMax", out.connection_age_max, milliseconds(100), hours(24));
  if (spec.Has("autoscaling")) out.autoscaling.emplace();
  spec.Object("autoscaling", [&](Fields& autoscaling) {
    if (!out.autoscaling) out.autoscaling.emplace();
    ReadAutoscaling(autoscaling, *out.autoscaling);
  });
  if (!out.autoscaling && out.replicas_max > out.replicas_min) {
    spec.Refuse("replicas.max", fmt::format("{} has no effect without autoscaling", out.replicas_max));
  }
  spec.Object("allowedNamespaces", [&](Fields& allowed) { ReadAllowedNamespaces(allowed, out.allowed_namespaces); });
  spec.Object("quotas", [&](Fields& quotas) {
    quotas.Integer("modelsMax", out.quotas.models_max, 1, kModelsMax);
    quotas.Object("perNamespace",
                  [&](Fields& each) { each.Integer("modelsMax", out.quotas.models_per_namespace_max, 1, kModelsMax); });
  });
  out.pods = ReadPods(spec);
  spec.Done();
  return out;
}

}  // namespace longshore::api
