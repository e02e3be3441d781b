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

Json ToJson(const AutoscaleStatus& autoscale) {
  Json recommendations = Json::array();
  for (const auto& [at, count] : autoscale.recommendations)
    recommendations.push_back({{"at", FormatTime(at)}, {"replicas", count}});
  return {{"desired", autoscale.desired},
          {"reason", autoscale.reason},
          {"message", autoscale.message},
          {"value", autoscale.value},
          {"target", autoscale.target},
          {"evidenceAt", FormatTime(autoscale.evidence_at)},
          {"lastScaleUp", FormatTime(autoscale.last_scale_up)},
          {"recommendations", std::move(recommendations)}};
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
  out.recommendations = GetList<std::pair<TimePoint, int>>(json, "recommendations", [](const Json& item) {
    std::pair<TimePoint, int> entry;
    GetTime(item, "at", entry.first);
    Get(item, "replicas", entry.second);
    return entry;
  });
  return out;
}

constexpr auto kItemToJson = [](const auto& item) { return ToJson(item); };

}  // namespace

Json ToJson(const ServingFleetStatus& status) {
  Json json{{"epoch", status.epoch},
            {"observedGeneration", status.observed_generation},
            {"conditions", ListToJson(status.conditions, kItemToJson)},
            {"replicas", status.replicas},
            {"readyReplicas", status.ready_replicas},
            {"grpcAddress", status.grpc_address},
            {"restAddress", status.rest_address},
            {"autoscale", ToJson(status.autoscale)},
            {"nodes", ListToJson(status.nodes, kItemToJson)}};
  if (!status.selector.empty()) json["selector"] = status.selector;
  if (!status.image.empty()) json["image"] = status.image;
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
  Get(json, "image", out.image);
  Get(json, "grpcAddress", out.grpc_address);
  Get(json, "restAddress", out.rest_address);
  out.autoscale = AutoscaleFrom(Child(json, "autoscale"));
  out.nodes = GetList<FleetNodeStatus>(json, "nodes", FleetNodeFrom);
  return out;
}

}  // namespace longshore::api
