#include "controller/api/format.h"
#include "controller/api/lenient.h"
#include "controller/api/parse.h"

namespace longshore::api {
namespace {

Json ToJson(const FleetNodeStatus& node) {
  return {{"name", node.name}, {"pid", node.pid}, {"state", node.state}, {"adminAddress", node.admin_address}};
}
FleetNodeStatus FleetNodeFrom(const Json& json) {
  FleetNodeStatus out;
  Get(json, "name", out.name);
  Get(json, "pid", out.pid);
  Get(json, "state", out.state);
  Get(json, "adminAddress", out.admin_address);
  return out;
}

Json ToJson(const Recommendation& recommendation) {
  return {{"at", FormatTime(recommendation.at)}, {"replicas", recommendation.replicas}};
}
Recommendation RecommendationFrom(const Json& json) {
  Recommendation out;
  GetTime(json, "at", out.at);
  Get(json, "replicas", out.replicas);
  return out;
}

Json ToJson(const AskedNodes& asked) { return {{"at", FormatTime(asked.at)}, {"nodes", asked.nodes}}; }
AskedNodes AskedFrom(const Json& json) {
  AskedNodes out;
  GetTime(json, "at", out.at);
  Get(json, "nodes", out.nodes);
  return out;
}

Json ToJson(const UtilizationLimit& limit) {
  return {{"share", limit.share}, {"at", FormatTime(limit.at)}, {"signal", limit.signal}, {"target", limit.target}};
}
UtilizationLimit LimitFrom(const Json& json) {
  UtilizationLimit out;
  Get(json, "share", out.share);
  GetTime(json, "at", out.at);
  Get(json, "signal", out.signal);
  Get(json, "target", out.target);
  return out;
}

constexpr auto kItemToJson = [](const auto& item) { return ToJson(item); };

// Fields that are empty most of the time are left out then, so that they do not distract people.
Json ToJson(const AutoscaleStatus& autoscale) {
  Json json{{"desired", autoscale.desired},
            {"reason", autoscale.reason},
            {"message", autoscale.message},
            {"value", autoscale.value},
            {"target", autoscale.target},
            {"evidenceAt", FormatTime(autoscale.evidence_at)},
            {"lastScaleUp", FormatTime(autoscale.last_scale_up)},
            {"recommendations", ListToJson(autoscale.recommendations, kItemToJson)}};
  if (!autoscale.asked.empty()) json["asked"] = ListToJson(autoscale.asked, kItemToJson);
  if (!autoscale.start_seconds.empty()) json["startSeconds"] = autoscale.start_seconds;
  if (autoscale.waiting_since != TimePoint{}) json["waitingSince"] = FormatTime(autoscale.waiting_since);
  if (autoscale.checked_at != TimePoint{}) json["checkedAt"] = FormatTime(autoscale.checked_at);
  if (autoscale.utilization_limit != UtilizationLimit{}) json["utilizationLimit"] = ToJson(autoscale.utilization_limit);
  return json;
}
AutoscaleStatus AutoscaleFrom(const Json& json) {
  AutoscaleStatus out;
  Get(json, "desired", out.desired);
  Get(json, "reason", out.reason);
  Get(json, "message", out.message);
  Get(json, "value", out.value);
  Get(json, "target", out.target);
  GetTime(json, "evidenceAt", out.evidence_at);
  GetTime(json, "lastScaleUp", out.last_scale_up);
  out.recommendations = GetList<Recommendation>(json, "recommendations", RecommendationFrom);
  out.asked = GetList<AskedNodes>(json, "asked", AskedFrom);
  out.start_seconds =
      GetList<double>(json, "startSeconds", [](const Json& item) { return item.is_number() ? item.get<double>() : 0; });
  GetTime(json, "waitingSince", out.waiting_since);
  GetTime(json, "checkedAt", out.checked_at);
  out.utilization_limit = LimitFrom(Child(json, "utilizationLimit"));
  return out;
}

}  // namespace

Json ToJson(const ServingFleetStatus& status) {
  Json json{{"epoch", status.epoch},
            {"observedGeneration", status.observed_generation},
            {"conditions", ListToJson(status.conditions, kItemToJson)},
            {"replicas", status.replicas},
            {"readyReplicas", status.ready_replicas},
            {"grpcAddress", status.grpc_address},
            {"restAddress", status.rest_address},
            {"nodes", ListToJson(status.nodes, kItemToJson)}};
  if (!status.autoscale.reason.empty()) json["autoscale"] = ToJson(status.autoscale);
  if (!status.selector.empty()) json["selector"] = status.selector;
  if (!status.controller_lease.empty()) json["controllerLease"] = status.controller_lease;
  if (!status.image.empty()) json["image"] = status.image;
  if (status.image_from_spec) json["imageFromSpec"] = true;
  return json;
}

Result<ServingFleetStatus> ServingFleetStatusFromJson(const Json& json) {
  RETURN_IF_ERROR(CheckIsStatus(json));
  ServingFleetStatus out;
  Get(json, "epoch", out.epoch);
  Get(json, "observedGeneration", out.observed_generation);
  out.conditions = GetList<Condition>(json, "conditions", ConditionFrom);
  Get(json, "replicas", out.replicas);
  Get(json, "readyReplicas", out.ready_replicas);
  Get(json, "selector", out.selector);
  Get(json, "controllerLease", out.controller_lease);
  Get(json, "image", out.image);
  Get(json, "imageFromSpec", out.image_from_spec);
  Get(json, "grpcAddress", out.grpc_address);
  Get(json, "restAddress", out.rest_address);
  out.autoscale = AutoscaleFrom(Child(json, "autoscale"));
  out.nodes = GetList<FleetNodeStatus>(json, "nodes", FleetNodeFrom);
  return out;
}

}  // namespace longshore::api
