#include "controller/console/views.h"

#include <algorithm>
#include <cmath>

#include "common/base/lower_case.h"
#include "controller/api/format.h"
#include "controller/cli/text/explain.h"
#include "controller/cli/text/shadow.h"
#include "controller/cli/text/text.h"
#include "controller/console/sampler.h"

namespace longshore::console {
namespace {

namespace text = cli::text;

Json NameJson(const api::Metadata& metadata) { return {{"namespace", metadata.namespace_}, {"name", metadata.name}}; }

void AddReport(const text::Report& report, Json& json) {
  json["standing"] = text::StandingName(report.standing);
  json["why"] = report.why;
}

template <typename Number>
Json OrNull(const std::optional<Number>& number) {
  return number ? Json(*number) : Json();
}

// A row of a list of Models.
Json RowOf(const api::Model& model, const HostSeen& seen) {
  Json json = NameJson(model.metadata);
  AddReport(text::ReportOf(model, seen), json);
  json["fleet"] = api::FleetOf(model.metadata, model.spec);
  json["stableVersion"] = model.status.stable_version;
  json["wantedVersion"] = OrNull(model.spec.version);
  json["rolloutInShort"] = IsUnderWay(model.status.rollout.phase) ? text::RolloutInShort(model) : "";
  return json;
}

Json RowOf(const api::ServingFleet& fleet, const HostSeen& seen) {
  Json json = NameJson(fleet.metadata);
  AddReport(text::ReportOf(fleet, seen), json);
  json["replicas"] = fleet.status.replicas;
  json["readyReplicas"] = fleet.status.ready_replicas;
  json["replicasMin"] = fleet.spec.replicas_min;
  json["replicasMax"] = fleet.spec.replicas_max;
  json["grpcAddress"] = fleet.status.grpc_address;
  json["restAddress"] = fleet.status.rest_address;
  return json;
}

Json StepsJson(const api::Rollout& rollout) {
  Json steps = Json::array();
  for (size_t i = 0; i < rollout.steps.size(); ++i) {
    const api::Step& step = rollout.steps[i];
    steps.push_back({{"weightPercent", step.weight_percent},
                     {"holdSeconds", std::chrono::duration<double>(step.hold.value_or(rollout.hold)).count()},
                     {"proof", api::ProofName(api::ProofOf(rollout, i))},
                     {"waitsForPromote", step.manual_pause}});
  }
  return steps;
}

Json LoadJson(const control::NodeLoad& load) {
  return {{"running", load.running()},
          {"queued", load.queued()},
          {"slots", load.concurrent_runs_max()},
          {"connections", load.connections()}};
}

// "not found" for NOT_FOUND.
std::string StateName(control::VersionReport::State state) {
  std::string name = LowerCase(control::VersionReport::State_Name(state));
  std::ranges::replace(name, '_', ' ');
  return name;
}

Json VersionsJson(const control::Report& report) {
  Json versions = Json::array();
  for (const control::VersionReport& version : report.versions()) {
    versions.push_back({{"servedName", version.served_name()},
                        {"version", version.version()},
                        {"state", StateName(version.state())},
                        {"message", version.message()},
                        {"memoryBytes", version.memory_bytes()},
                        {"weightPercent", static_cast<double>(version.weight_bp()) / 100}});
  }
  return versions;
}

Json NodeJson(const api::FleetNodeStatus& node, const std::vector<nodes::ViewPtr>& views) {
  Json json{{"name", node.name}, {"state", node.state}, {"pid", node.pid}, {"adminAddress", node.admin_address}};
  const auto found =
      std::ranges::find_if(views, [&](const nodes::ViewPtr& view) { return view->hello.node() == node.name; });
  const bool is_known = found != views.end();
  json["connected"] = is_known && (*found)->connected;
  json["problem"] = is_known ? (*found)->ack_error : "";
  json["softwareVersion"] = is_known ? (*found)->hello.software_version() : "";
  const bool has_reported = is_known && (*found)->report != nullptr;
  json["load"] = has_reported && (*found)->report->has_load() ? LoadJson((*found)->report->load()) : Json();
  json["versions"] = has_reported ? VersionsJson(*(*found)->report) : Json::array();
  return json;
}

// Four digits after the point suffice for a graph, and make the answer half as long.
Json Short(float number) { return std::round(static_cast<double>(number) * 1e4) / 1e4; }
Json Short(std::optional<float> number) { return number ? Short(*number) : Json(); }

int64_t Milliseconds(TimePoint at) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

}  // namespace

Json OverviewJson(const Objects& objects, const ControllerSeen& controller) {
  const HostSeen seen{.epoch = controller.epoch};
  Json json{{"controller", {{"version", controller.version}, {"problem", controller.problem}}},
            {"models", Json::array()},
            {"fleets", Json::array()},
            {"unreadable", Json::array()}};
  for (const api::Model& model : objects.models) json["models"].push_back(RowOf(model, seen));
  for (const api::ServingFleet& fleet : objects.fleets) json["fleets"].push_back(RowOf(fleet, seen));
  for (const store::Unreadable& one : objects.unreadable) {
    json["unreadable"].push_back({{"object", api::ToString(one.key)}, {"why", one.why}});
  }
  return json;
}

Json ModelJson(const api::Model& model, const HostSeen& seen, TimePoint now) {
  Json json = RowOf(model, seen);
  Json status = api::ToJson(model.status);
  Json& rollout = status["rollout"];
  rollout.erase("analysis");  // Only the code in decide/analysis may interpret it.
  const bool is_under_way = IsUnderWay(model.status.rollout.phase);
  json["servedName"] = model.spec.served_name;
  json["source"] = model.spec.source_uri;
  json["strategy"] = api::StrategyName(model.spec.rollout.strategy);
  json["steps"] = StepsJson(model.spec.rollout);
  json["isUnderWay"] = is_under_way;
  json["waits"] = is_under_way ? text::WaitReason(model, now) : "";
  json["verdict"] = text::VerdictText(model);
  const auto evidence = EvidenceOf(model, now);
  json["limits"] = {{"errorDifference", evidence ? Short(evidence->error_limit) : Json()},
                    {"runTimeRatio", 1 + model.spec.rollout.latency.tolerance}};
  json["rollout"] = std::move(rollout);
  for (const char* field : {"conditions", "history", "failed", "nodes"}) json[field] = std::move(status[field]);
  json["goldenSet"] = status.contains("goldenSet") ? std::move(status["goldenSet"]) : Json();
  json["pairs"] = text::PairsText(model.status.rollout);
  json["outputs"] = text::OutputsText(model.status.rollout);
  return json;
}

Json FleetJson(const api::ServingFleet& fleet, const std::vector<nodes::ViewPtr>& nodes,
               const std::vector<api::Model>& models, const HostSeen& seen) {
  Json json = RowOf(fleet, seen);
  const Json status = api::ToJson(fleet.status);
  json["conditions"] = status["conditions"];
  json["scaling"] = Json();
  if (!fleet.status.autoscale.reason.empty()) {
    json["scaling"] = {{"desired", fleet.status.autoscale.desired}, {"message", fleet.status.autoscale.message}};
  }
  json["nodes"] = Json::array();
  for (const api::FleetNodeStatus& node : fleet.status.nodes) json["nodes"].push_back(NodeJson(node, nodes));
  json["models"] = Json::array();
  for (const api::Model& model : models) json["models"].push_back(RowOf(model, seen));
  return json;
}

Json HistoryJson(const ModelHistory& history) {
  Json json{{"versions", Json::array()}, {"evidenceAttempt", history.attempt}, {"evidence", Json::array()}};
  for (const auto& [version, points] : history.versions) {
    Json rows = Json::array();
    for (const TrafficPoint& point : points) {
      rows.push_back({Milliseconds(point.at), Short(point.requests_per_second), Short(point.errors_per_second),
                      Short(point.median_ms), Short(point.p90_ms)});
    }
    json["versions"].push_back({{"version", version}, {"points", std::move(rows)}});
  }
  for (const EvidencePoint& point : history.evidence) {
    json["evidence"].push_back({Milliseconds(point.at), Short(point.error_low), Short(point.error_high),
                                Short(point.error_limit), Short(point.ratio_low), Short(point.ratio_high),
                                Short(point.ratio_limit)});
  }
  return json;
}

}  // namespace longshore::console
