#include "controller/api/format.h"

#include "controller/api/document.h"
#include "controller/api/specs.h"

namespace longshore::api {
namespace {

const char* Name(AssignmentBy by) {
  switch (by) {
    case AssignmentBy::kHeader: return "Header";
    case AssignmentBy::kCookie: return "Cookie";
    case AssignmentBy::kRequest: break;
  }
  return "Request";
}

const char* Name(OnInconclusive action) {
  switch (action) {
    case OnInconclusive::kPromote: return "Promote";
    case OnInconclusive::kRollback: return "Rollback";
    case OnInconclusive::kPause: break;
  }
  return "Pause";
}

Json StepToJson(const Step& step) {
  Json json{{"weight", step.weight_percent}};
  if (step.hold) json["hold"] = FormatDuration(*step.hold);
  if (step.manual_pause) json["pause"] = "Manual";
  if (step.proof) json["proof"] = ProofName(*step.proof);
  return json;
}

Json AnalysisToJson(const Rollout& rollout) {
  Json drift = Json::object();
  if (rollout.drift.max) drift["max"] = *rollout.drift.max;
  Json json{{"errorRate", {{"enabled", rollout.error_rate.enabled}}},
            {"latency", {{"enabled", rollout.latency.enabled}, {"tolerance", rollout.latency.tolerance}}},
            {"drift", std::move(drift)}};
  // Release 0.1 cannot read a Model with a field that it does not know.
  const Rollout usual;
  const auto add = [](Json& to, const char* key, double value, double usual_value) {
    if (value != usual_value) to[key] = value;
  };
  add(json["errorRate"], "tolerance", rollout.error_rate.tolerance, usual.error_rate.tolerance);
  add(json["errorRate"], "relativeTolerance", rollout.error_rate.relative_tolerance,
      usual.error_rate.relative_tolerance);
  Json pairs = Json::object();
  add(pairs, "share", rollout.pairs.share, usual.pairs.share);
  add(pairs, "budget", rollout.pairs.budget, usual.pairs.budget);
  if (!pairs.empty()) json["pairs"] = std::move(pairs);
  if (rollout.patience != usual.patience) json["patience"] = FormatDuration(rollout.patience);
  return json;
}

Json MaxUnavailableToJson(const MaxUnavailable& nodes) {
  if (nodes.is_percent) return fmt::format("{}%", nodes.value);
  return nodes.value;
}

Json RolloutToJson(const Rollout& rollout) {
  Json json{{"strategy", StrategyName(rollout.strategy)}};
  json["assignment"] = {{"by", Name(rollout.assignment_by)}};
  if (!rollout.assignment_key.empty()) json["assignment"]["key"] = rollout.assignment_key;
  PutRoutes(rollout.routes, json);
  for (const Step& step : rollout.steps) json["steps"].push_back(StepToJson(step));
  json["hold"] = FormatDuration(rollout.hold);
  json["requestsMin"] = rollout.requests_min;
  json["analysis"] = AnalysisToJson(rollout);
  json["onFailure"] = rollout.on_failure == OnFailure::kRollback ? "Rollback" : "Pause";
  const Rollout usual;  // Fields that release 0.1 does not know are left out as above.
  if (rollout.on_inconclusive != usual.on_inconclusive) json["onInconclusive"] = Name(rollout.on_inconclusive);
  json["progressDeadline"] = FormatDuration(rollout.progress_deadline);
  if (rollout.max_unavailable != usual.max_unavailable)
    json["maxUnavailable"] = MaxUnavailableToJson(rollout.max_unavailable);
  if (rollout.controller_silence_max != usual.controller_silence_max)
    json["controllerSilenceMax"] = FormatDuration(rollout.controller_silence_max);
  if (rollout.keep_warm != usual.keep_warm) json["keepWarm"] = FormatDuration(rollout.keep_warm);
  json["paused"] = rollout.paused;
  PutShadow(rollout, json);
  return json;
}

Json SloToJson(const Slo& slo) {
  Json json = Json::object();
  if (slo.latency_target) {
    json["latency"] = {{"quantile", slo.latency_quantile}, {"target", FormatDuration(*slo.latency_target)}};
  }
  if (slo.error_rate) json["errorRate"] = *slo.error_rate;
  return json;
}

Json ValidationToJson(const Validation& validation) {
  Json json = Json::object();
  if (!validation.golden_set.empty()) {
    json["goldenSet"] = {{"path", validation.golden_set},
                         {"metric", validation.metric},
                         {"minimum", validation.minimum},
                         {"tolerance", {{"relative", validation.relative_tolerance}}}};
    if (validation.golden_every > Duration(0)) json["goldenSet"]["every"] = FormatDuration(validation.golden_every);
  }
  json["nonFinite"] = validation.non_finite_reject ? "Reject" : "Allow";
  json["deterministic"] = validation.deterministic;
  return json;
}

Json BatchingToJson(const Batching& batching) {
  Json json{{"maxBatchSize", batching.max_batch_size},
            {"maxDelay", FormatDuration(batching.max_delay)},
            {"maxQueue", batching.max_queue}};
  if (!batching.allowed_batch_sizes.empty()) json["allowedBatchSizes"] = batching.allowed_batch_sizes;
  return json;
}

Json AutoscalingToJson(const Autoscaling& autoscaling) {
  Json json{{"queueDelay", FormatDuration(autoscaling.queue_delay_target)},
            {"utilization", autoscaling.utilization_target}};
  if (!autoscaling.prometheus_url.empty()) json["prometheus"] = {{"url", autoscaling.prometheus_url}};
  json["metricsAgeMax"] = FormatDuration(autoscaling.metrics_age_max);
  json["scaleDownStabilization"] = FormatDuration(autoscaling.scale_down_stabilization);
  json["scaleUpCooldown"] = FormatDuration(autoscaling.scale_up_cooldown);
  return json;
}

Json MetadataToJson(const Metadata& metadata) {
  Json json{{"name", metadata.name}, {"namespace", metadata.namespace_}};
  if (!metadata.uid.empty()) json["uid"] = metadata.uid;
  if (metadata.generation != 0) json["generation"] = metadata.generation;
  if (!metadata.resource_version.empty()) json["resourceVersion"] = metadata.resource_version;
  if (!metadata.labels.empty()) json["labels"] = metadata.labels;
  if (!metadata.annotations.empty()) json["annotations"] = metadata.annotations;
  return json;
}

}  // namespace

Json ToJson(const ModelSpec& spec) {
  Json json{{"fleet", spec.fleet}, {"servedName", spec.served_name}, {"source", {{"uri", spec.source_uri}}}};
  if (!spec.source_sha256.empty()) json["source"]["sha256"] = spec.source_sha256;
  if (spec.version) {
    json["version"] = *spec.version;
  } else {
    json["versionPolicy"] = "Latest";
  }
  if (!spec.version_labels.empty()) json["labels"] = spec.version_labels;
  json["slo"] = SloToJson(spec.slo);
  json["batching"] = BatchingToJson(spec.batching);
  json["warmup"] = {{"source", spec.warm_up ? "Assets" : "None"}};
  json["validation"] = ValidationToJson(spec.validation);
  json["rollout"] = RolloutToJson(spec.rollout);
  if (spec.replicas) json["replicas"] = *spec.replicas;
  return json;
}

Json ToJson(const ServingFleetSpec& spec) {
  Json json{
      {"replicas", {{"min", spec.replicas_min}}},
      {"ports", {{"grpc", spec.grpc_port}, {"rest", spec.rest_port}}},
      {"engine", {{"concurrentRuns", spec.concurrent_runs_max}, {"simulatedRun", FormatDuration(spec.simulated_run)}}},
      {"connectionAgeMax", FormatDuration(spec.connection_age_max)}};
  // The default, min, is not written: `kubectl scale` changes only min, and the server refuses a max that differs.
  if (spec.replicas_max != spec.replicas_min) json["replicas"]["max"] = spec.replicas_max;
  if (spec.autoscaling) json["autoscaling"] = AutoscalingToJson(*spec.autoscaling);
  const AllowedNamespaces& allowed = spec.allowed_namespaces;
  if (allowed.all) json["allowedNamespaces"] = {{"from", "All"}};
  if (!allowed.names.empty()) json["allowedNamespaces"] = {{"from", "Names"}, {"names", allowed.names}};
  if (spec.quotas.models_max) json["quotas"]["modelsMax"] = *spec.quotas.models_max;
  if (const auto& max = spec.quotas.models_per_namespace_max) json["quotas"]["perNamespace"] = {{"modelsMax", *max}};
  PutPods(spec.pods, json);
  return json;
}

Json SpecToJson(const ParsedObject& object) {
  return std::visit([](const auto& spec) { return ToJson(spec); }, object.spec);
}

Json Document(const std::string& kind, const Metadata& metadata, const Json& spec, const Json& status) {
  Json json{{"apiVersion", kApiVersion}, {"kind", kind}, {"metadata", MetadataToJson(metadata)}, {"spec", spec}};
  if (!status.is_null()) json["status"] = status;
  return json;
}

std::string ToYaml(const Json& document) { return EmitYaml(document); }

}  // namespace longshore::api
