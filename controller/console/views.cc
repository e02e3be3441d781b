#include "controller/console/views.h"

#include <algorithm>
#include <cmath>

#include "common/base/lower_case.h"
#include "controller/api/format.h"
#include "controller/cli/text/compared.h"
#include "controller/cli/text/explain.h"
#include "controller/cli/text/offers.h"
#include "controller/cli/text/shadow.h"
#include "controller/cli/text/text.h"
#include "controller/console/sampler.h"
#include "controller/decide/analysis/difference.h"

namespace longshore::console {
namespace {

namespace text = cli::text;

Json NameJson(const api::Metadata& metadata) { return {{"namespace", metadata.namespace_}, {"name", metadata.name}}; }

api::Key KeyOf(const char* kind, const api::Metadata& metadata) { return {kind, metadata.namespace_, metadata.name}; }

std::string DisagreementText(const cli::host::Disagreement& disagreement) {
  return disagreement.text + ". " + cli::host::kDisagreementRemedy;
}

// How the object is, and how it differs from its manifest file.
void AddReport(const text::Report& report, const api::Key& key, const Snapshot& snapshot, Json& json) {
  json["standing"] = text::StandingName(report.standing);
  json["why"] = report.why;
  const auto found = std::ranges::find(snapshot.disagreements, key, &cli::host::Disagreement::key);
  json["disagreement"] = found == snapshot.disagreements.end() ? "" : DisagreementText(*found);
}

template <typename Number>
Json OrNull(const std::optional<Number>& number) {
  return number ? Json(*number) : Json();
}

// What people want to be told when it happens: the end of a rollout, or that it needs a person. `id` identifies the
// event. Null: nothing.
Json NoticeJson(const api::Model& model, const text::Report& report, TimePoint now) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const auto notice = [&](const std::string& event, const std::string& text) {
    return Json{{"id", rollout.id + " " + event}, {"text", text}};
  };
  if (IsUnderWay(rollout.phase) && !rollout.paused_reason.empty())
    return notice(rollout.paused_reason + std::to_string(rollout.step_index), text::WaitReason(model, now));
  const bool has_failed = report.standing == text::Standing::kFailed;
  if (rollout.phase == api::RolloutPhase::kRolledBack) {
    return notice("rolled back",
                  fmt::format("Version {} was rolled back.{}", rollout.candidate, has_failed ? " " + report.why : ""));
  }
  if (has_failed) return notice("failed", report.why);
  if (rollout.phase == api::RolloutPhase::kCompleted)
    return notice("promoted", fmt::format("Version {} was promoted.", rollout.candidate));
  return {};
}

// A row of a list of Models.
Json RowOf(const api::Model& model, const Snapshot& snapshot, TimePoint now) {
  Json json = NameJson(model.metadata);
  const text::Report report = text::ReportOf(model, snapshot.seen);
  AddReport(report, KeyOf(api::kModelKind, model.metadata), snapshot, json);
  json["notice"] = NoticeJson(model, report, now);
  json["fleet"] = api::FleetOf(model.metadata, model.spec);
  json["stableVersion"] = model.status.stable_version;
  json["wantedVersion"] = OrNull(model.spec.version);
  json["rolloutInShort"] = IsUnderWay(model.status.rollout.phase) ? text::RolloutInShort(model) : "";
  return json;
}

Json RowOf(const api::ServingFleet& fleet, const Snapshot& snapshot) {
  Json json = NameJson(fleet.metadata);
  AddReport(text::ReportOf(fleet, snapshot.seen), KeyOf(api::kServingFleetKind, fleet.metadata), snapshot, json);
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

// The commands that would be executed now, each with what it does and with the state that it is for.
Json OffersJson(const api::Model& model, TimePoint now) {
  Json offers = Json::array();
  for (const text::Offer& offer : text::OffersOf(model, now)) {
    const api::Command command = api::CommandFor(offer.verb, model.metadata.generation, model.status);
    offers.push_back({{"verb", offer.verb},
                      {"effect", offer.effect},
                      {"warning", offer.warning},
                      {"seen",
                       {{"generation", command.generation},
                        {"attempt", command.attempt},
                        {"step", command.step},
                        {"from", command.from}}}});
  }
  return offers;
}

// The rows of the table of `longshore explain`.
Json ComparedJson(const api::Model& model) {
  Json rows = Json::array();
  for (const text::ComparedRow& row : text::ComparedRows(model)) {
    rows.push_back({{"what", row.what},
                    {"stable", row.stable},
                    {"candidate", row.candidate},
                    {"difference", row.difference},
                    {"allowed", row.allowed}});
  }
  return rows;
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

// The manifest files that are not as their objects are.
Json ManifestsJson(const Snapshot& snapshot) {
  Json manifests = Json::array();
  for (const text::ManifestReport& one : snapshot.seen.manifests) {
    manifests.push_back(
        {{"file", one.file}, {"state", text::StandingName(one.report.standing)}, {"why", one.report.why}});
  }
  for (const cli::host::Disagreement& one : snapshot.disagreements) {
    manifests.push_back({{"file", one.file}, {"state", "differs"}, {"why", DisagreementText(one)}});
  }
  return manifests;
}

// Four digits after the point suffice for a graph, and make the answer half as long.
Json Short(float number) { return std::round(static_cast<double>(number) * 1e4) / 1e4; }
Json Short(std::optional<float> number) { return number ? Short(*number) : Json(); }

int64_t Milliseconds(TimePoint at) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

Json PointJson(const EvidencePoint& point) {
  return {Milliseconds(point.at), Short(point.error_low),  Short(point.error_high), Short(point.error_limit),
          Short(point.ratio_low), Short(point.ratio_high), Short(point.ratio_limit)};
}

// A time in the future comes from a node whose clock is ahead.
Json PairJson(const NodePair& one, TimePoint now) {
  const control::WorstPair& pair = one.pair;
  const auto milliseconds = [](int64_t us) { return static_cast<double>(us) / 1000; };
  return {{"node", one.node},
          {"at", std::clamp<int64_t>(pair.at_unix_ms(), 0, Milliseconds(now))},
          {"traceId", pair.trace_id()},
          {"signature", pair.signature()},
          {"rows", pair.rows()},
          {"output", pair.output()},
          {"relativeDifference", pair.relative_difference()},
          {"absoluteDifference", pair.has_absolute_difference() ? Json(pair.absolute_difference()) : Json()},
          {"stable",
           {{"type", pair.stable_type()}, {"error", pair.stable_error()}, {"ms", milliseconds(pair.stable_us())}}},
          {"candidate",
           {{"type", pair.candidate_type()},
            {"error", pair.candidate_error()},
            {"ms", milliseconds(pair.candidate_us())}}}};
}

}  // namespace

Json ControllerJson(const ControllerSeen& controller) {
  return {{"version", controller.version}, {"problem", controller.problem}};
}

Json OverviewJson(const Snapshot& snapshot, TimePoint now) {
  Json json{{"models", Json::array()}, {"fleets", Json::array()}, {"unreadable", Json::array()}};
  for (const api::Model& model : snapshot.models) json["models"].push_back(RowOf(model, snapshot, now));
  for (const api::ServingFleet& fleet : snapshot.fleets) json["fleets"].push_back(RowOf(fleet, snapshot));
  for (const store::Unreadable& one : snapshot.unreadable) {
    json["unreadable"].push_back({{"object", api::ToString(one.key)}, {"why", one.why}});
  }
  json["manifests"] = ManifestsJson(snapshot);
  return json;
}

Json ModelJson(const api::Model& model, const Snapshot& snapshot, TimePoint now) {
  Json json = RowOf(model, snapshot, now);
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
  json["numbersAt"] = api::FormatTime(text::TimeOfNumbers(model).value_or(TimePoint{}));
  const auto evidence = EvidenceOf(model, now);
  json["limits"] = {{"errorDifference", evidence ? Short(evidence->error_limit) : Json()},
                    {"runTimeRatio", evidence ? Short(evidence->ratio_limit) : Json()},
                    {"runTime", text::RunTimeAllowed(model)}};
  json["evidence"] = evidence ? PointJson(*evidence) : Json();
  json["rollout"] = std::move(rollout);
  for (const char* field : {"conditions", "history", "failed", "nodes"}) json[field] = std::move(status[field]);
  json["goldenSet"] = status.contains("goldenSet") ? std::move(status["goldenSet"]) : Json();
  json["offers"] = OffersJson(model, now);
  json["compared"] = ComparedJson(model);
  json["comparedNote"] = text::ComparedNote(model);
  const std::string warning = text::DriftWarning(model);
  json["pairs"] = text::PairsText(model.status.rollout) + (warning.empty() ? "" : "  " + warning + "\n");
  json["outputs"] = text::OutputsText(model.status.rollout);
  return json;
}

Json FleetJson(const api::ServingFleet& fleet, const std::vector<nodes::ViewPtr>& nodes, const Snapshot& snapshot,
               TimePoint now) {
  Json json = RowOf(fleet, snapshot);
  const Json status = api::ToJson(fleet.status);
  json["conditions"] = status["conditions"];
  json["hasPods"] = !fleet.status.selector.empty();
  json["scaling"] = Json();
  if (!fleet.status.autoscale.reason.empty()) {
    json["scaling"] = {{"desired", fleet.status.autoscale.desired}, {"message", fleet.status.autoscale.message}};
  }
  json["nodes"] = Json::array();
  for (const api::FleetNodeStatus& node : fleet.status.nodes) json["nodes"].push_back(NodeJson(node, nodes));
  json["models"] = Json::array();
  const std::string name = fleet.metadata.namespace_ + "/" + fleet.metadata.name;
  for (const api::Model& model : snapshot.models) {
    const bool is_of_fleet = api::FleetOf(model.metadata, model.spec) == name;
    if (is_of_fleet) json["models"].push_back(RowOf(model, snapshot, now));
  }
  return json;
}

Json HistoryJson(const ModelHistory& history, const std::string& rollout, TimePoint now) {
  Json json{{"now", Milliseconds(now)},         {"intervalMs", kSampleInterval.count()},
            {"versions", Json::array()},        {"evidenceAttempt", history.attempt},
            {"evidence", Json::array()},        {"worstPairs", Json::array()},
            {"ratioTold", analysis::kRatioTold}};
  if (history.rollout == rollout) {
    for (const NodePair& pair : history.worst_pairs) json["worstPairs"].push_back(PairJson(pair, now));
  }
  for (const auto& [version, points] : history.versions) {
    Json rows = Json::array();
    for (const TrafficPoint& point : points) {
      rows.push_back({Milliseconds(point.at), Short(point.requests_per_second), Short(point.errors_per_second),
                      Short(point.median_ms), Short(point.p90_ms)});
    }
    json["versions"].push_back({{"version", version}, {"points", std::move(rows)}});
  }
  for (const EvidencePoint& point : history.evidence) json["evidence"].push_back(PointJson(point));
  return json;
}

}  // namespace longshore::console
