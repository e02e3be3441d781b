// Runs tests/golden/rollout. A case has
//   spec:     fields that differ from a model with version 2 and the default canary
//   status:   as stored; evidence: {candidate: {...}, stable: {...}, times: 20} becomes the rollout's analysis, begun
//             with baseline: {requests: 1000, errors: 10}, stable's past, and evidenceSpec, if the spec was another one
//             then; node: the node that the evidence is from; withoutPairsSince: when the first of its dropped
//             requests was noticed; lastDropAt: when as many others were, instead of now
//   nodes:    {a: {1: Ready, 2: {state: Failed, message: why}, source: {sha256: s, state: Failed, message: why}}};
//             a version in the state NoMemory has neededBytes, freeBytes and byOwnLimit; slots: 1; goldenAgain:
//             {records: 9, passed: 8, at: 90s, request: id}; goldenDue: 90s
//   draining: [b]; departing: [c]; oldNodes: [a], whose release does not know match rules; rules: {a: {refused: true,
//             message: why}}
//   noFleet:  the message that says why the Model has no fleet; fleetTrouble: why the fleet needs help
//   otherFiles: [2]; untold: [a]
//   latest:   3; fleetSeen: {uid: f, generation: 1, nodes: 3}, as observedFleet in the status
//   window:   {candidate: {requests: 10, errors: 1, nonFinite: 0, ms: 50, bins: {salt: s, requests: 100, bad: 1}},
//             stable: {...}}; each bin has these counts. candidate: {pairs: {count: 10, mismatched: 1, mismatch: why,
//             outputs: [{rule: "o: Top1", differs: 1}], busy: 3, overBudget: 2}}: all pairs were compared, and no
//             version was slower; busy and overBudget were dropped
//   past:     all known counts of stable, like one of window
//   now:      "90s" after the start of time
#include <gtest/gtest.h>

#include "controller/api/format.h"
#include "controller/api/parse.h"
#include "controller/decide/analysis/histogram.h"
#include "controller/decide/rollout/rollout.h"
#include "tests/golden/golden.h"

namespace longshore::rollout {
namespace {

using golden::Child;
using golden::Get;

NodeState StateOf(const std::string& name) {
  static const std::map<std::string, NodeState> kStates = {
      {"Absent", NodeState::kAbsent},     {"Rehearsal", NodeState::kRehearsal},
      {"Loading", NodeState::kLoading},   {"Warming", NodeState::kWarming},
      {"Ready", NodeState::kReady},       {"Unloading", NodeState::kUnloading},
      {"Failed", NodeState::kFailed},     {"Quarantined", NodeState::kQuarantined},
      {"NotFound", NodeState::kNotFound}, {"NoMemory", NodeState::kNoMemory}};
  return kStates.at(name);
}

GoldenSeen GoldenFrom(const Json& json) {
  return {Get<int64_t>(json, "records", 0), Get<int64_t>(json, "passed", 0), 0, Get(json, "ok", false),
          Get<std::string>(json, "message", "")};
}

VersionSeen VersionFrom(const Json& json) {
  VersionSeen seen;
  if (json.is_string()) {
    seen.state = StateOf(json.get<std::string>());
    return seen;
  }
  seen.state = StateOf(Get<std::string>(json, "state", "Absent"));
  seen.message = Get<std::string>(json, "message", "");
  seen.digest = Get<std::string>(json, "digest", "");
  seen.memory = {Get<int64_t>(json, "neededBytes", 0), Get<int64_t>(json, "freeBytes", 0),
                 Get(json, "byOwnLimit", false)};
  if (const Json& golden = Child(json, "golden"); !golden.is_null()) seen.golden = GoldenFrom(golden);
  if (const Json& golden = Child(json, "goldenAgain"); !golden.is_null()) {
    seen.golden_again = GoldenFrom(golden);
    seen.golden_again->at = golden::TimeOf(golden, "at");
    seen.golden_again->request = Get<std::string>(golden, "request", "");
  }
  if (json.contains("goldenDue")) seen.golden_due = golden::TimeOf(json, "goldenDue");
  if (const Json& guard = Child(json, "guard"); !guard.is_null()) {
    seen.guard = GuardSeen{Get<std::string>(guard, "reason", ""), Get<std::string>(guard, "message", "")};
  }
  return seen;
}

api::PairEvidence PairsFrom(const Json& json) {
  api::PairEvidence pairs{.pairs = Get<int64_t>(json, "count", 0)};
  pairs.ratio_buckets.resize(kRatioBucketOfOne + 1);
  pairs.ratio_buckets.back() = pairs.pairs;
  pairs.mismatched = Get<int64_t>(json, "mismatched", 0);
  pairs.mismatch = Get<std::string>(json, "mismatch", "");
  pairs.dropped = {Get<int64_t>(json, "busy", 0), Get<int64_t>(json, "overBudget", 0), 0};
  for (const Json& output : Child(json, "outputs")) {
    pairs.outputs.push_back({.rule = Get<std::string>(output, "rule", ""),
                             .pairs = pairs.pairs,
                             .differs = Get<int64_t>(output, "differs", 0)});
  }
  return pairs;
}

api::ArmEvidence ArmFrom(const Json& json) {
  api::ArmEvidence arm;
  arm.requests = Get<int64_t>(json, "requests", 0);
  arm.errors = Get<int64_t>(json, "errors", 0);
  arm.non_finite = Get<int64_t>(json, "nonFinite", 0);
  if (const Json& pairs = Child(json, "pairs"); !pairs.is_null()) arm.pairs = PairsFrom(pairs);
  if (const Json& bins = Child(json, "bins"); !bins.is_null()) {
    arm.bins = {Get<std::string>(bins, "salt", ""), std::vector(analysis::kBins, Get<int64_t>(bins, "requests", 0)),
                std::vector(analysis::kBins, Get<int64_t>(bins, "bad", 0))};
  }
  if (!json.is_object() || !json.contains("ms")) return arm;
  const int bucket = analysis::BucketOf(Duration(Get<int64_t>(json, "ms", 1) * 1000));
  arm.run_times[0].resize(static_cast<size_t>(bucket) + 1);
  arm.run_times[0].back() = arm.requests;
  return arm;
}

analysis::WindowEvidence WindowFrom(const Json& json) {
  return {ArmFrom(Child(json, "candidate")), ArmFrom(Child(json, "stable"))};
}

std::optional<SourceSeen> SourceFrom(const Json& json) {
  static const std::map<std::string, SourceState> kStates = {
      {"Fetching", SourceState::kFetching}, {"Ready", SourceState::kReady}, {"Failed", SourceState::kFailed}};
  if (json.is_null()) return std::nullopt;
  return SourceSeen{Get<std::string>(json, "sha256", ""), kStates.at(Get<std::string>(json, "state", "")),
                    Get<std::string>(json, "message", ""), Get<std::string>(json, "uri", "")};
}

Observed ObservedFrom(const Json& json) {
  Observed observed;
  for (const auto& [name, versions] : Child(json, "nodes").items()) {
    NodeSeen node{name, false, {}};
    const Json& draining = Child(json, "draining");
    node.draining = std::find(draining.begin(), draining.end(), Json(name)) != draining.end();
    const Json& departing = Child(json, "departing");
    node.departing = std::find(departing.begin(), departing.end(), Json(name)) != departing.end();
    for (const auto& [version, seen] : versions.items()) {
      if (version != "source" && version != "slots") node.versions[std::stoll(version)] = VersionFrom(seen);
    }
    node.source = SourceFrom(Child(versions, "source"));
    node.run_slots = Get<int64_t>(versions, "slots", 0);
    const Json& old = Child(json, "oldNodes");
    node.knows_rules = std::find(old.begin(), old.end(), Json(name)) == old.end();
    if (const Json& rules = Child(Child(json, "rules"), name.c_str()); !rules.is_null())
      node.rules = RulesSeen{Get(rules, "refused", false), Get<std::string>(rules, "message", "")};
    observed.nodes.push_back(node);
  }
  const Json& fleet = Child(json, "fleetSeen");
  observed.fleet_seen = {Get<std::string>(fleet, "uid", ""), Get<int64_t>(fleet, "generation", 0),
                         Get(fleet, "nodes", 0)};
  observed.no_fleet = Get<std::string>(json, "noFleet", "");
  for (const Json& node : Child(json, "untold"))
    observed.untold.push_back({"node " + node.get<std::string>(), " has not confirmed it"});
  observed.fleet_trouble = Get<std::string>(json, "fleetTrouble", "");
  if (const Json& latest = Child(json, "latest"); !latest.is_null()) observed.latest_version = latest.get<int64_t>();
  for (const Json& version : Child(json, "otherFiles")) observed.other_files.insert(version.get<int64_t>());
  observed.stable_past = ArmFrom(Child(json, "past"));
  observed.windows["a"] = WindowFrom(Child(json, "window"));
  return observed;
}

api::ModelSpec SpecFrom(const Json& changes) {
  Json spec{{"fleet", "cpu"}, {"source", {{"uri", "file:///models/digits"}}}, {"version", 2}};
  if (!changes.is_null()) spec.merge_patch(changes);
  const auto parsed = api::ModelSpecFromJson(spec, "digits");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *parsed;
}

api::Model ModelFrom(const Json& json) {
  api::Model model;
  model.metadata = {.name = "digits",
                    .namespace_ = "default",
                    .uid = "u",
                    .generation = Get<int64_t>(json, "generation", 1),
                    .resource_version = "",
                    .labels = {},
                    .annotations = {}};
  model.spec = SpecFrom(Child(json, "spec"));
  model.status = *api::ModelStatusFromJson(Child(json, "status"));
  if (!json.contains("generation")) model.status.observed_generation = model.metadata.generation;
  if (const Json& evidence = Child(json, "evidence"); !evidence.is_null()) {
    const Json past = json.contains("baseline") ? Child(json, "baseline") : Json{{"requests", 1000}, {"errors", 10}};
    const api::ModelSpec spec = json.contains("evidenceSpec") ? SpecFrom(Child(json, "evidenceSpec")) : model.spec;
    auto analysis = analysis::Begin(spec, ArmFrom(past));
    for (int i = 0; i < Get(evidence, "times", 1); ++i) {
      analysis = analysis::Update(std::move(analysis), Get<std::string>(evidence, "node", "a"), WindowFrom(evidence));
    }
    if (json.contains("withoutPairsSince")) {
      const analysis::Windows windows{{"a", WindowFrom(evidence)}};
      analysis::NoteDrops(windows, golden::TimeOf(json, "withoutPairsSince"), analysis);
      analysis::NoteDrops(windows, golden::TimeOf(json, json.contains("lastDropAt") ? "lastDropAt" : "now"), analysis);
    }
    model.status.rollout.analysis = analysis::ToJson(analysis);
  }
  return model;
}

// For example "500 on a,b candidate".
std::string Shown(const VersionPlacement& placed) {
  return fmt::format("{} on {}{}{}", placed.weight_bp, fmt::join(placed.nodes, ","),
                     placed.candidate ? " candidate" : "", placed.rehearse ? " rehearsal" : "");
}

Json Outcome(const Decision& decision) {
  const Json status = api::ToJson(decision.status);
  Json out = status["rollout"];
  out["stableVersion"] = status["stableVersion"];
  out["commandResult"] = status["commandResult"];
  out["commands"] = Json::array();
  for (const api::Command& command : decision.status.commands) out["commands"].push_back(command.id);
  out["answers"] = Json::array();
  for (const api::CommandAnswer& answer : decision.status.answers)
    out["answers"].push_back(answer.id + " " + ToString(answer));
  out["acceptedCommands"] = decision.status.accepted_commands;
  out["digests"] = status["digests"];
  out["sources"] = status["sources"];
  out["verdictMessage"] = decision.status.rollout.verdict.message;
  out["nodesWithoutMemory"] = decision.status.rollout.verdict.numbers.contains("nodesWithoutMemory")
                                  ? Json(decision.status.rollout.verdict.numbers.at("nodesWithoutMemory"))
                                  : Json();
  out["verdict"] = decision.status.rollout.verdict.result;
  out["reason"] = decision.status.rollout.verdict.reason;
  out["safety"] = decision.safety;
  out["evidenceUsed"] = decision.evidence_used;
  out["goldenSet"] = status.value("goldenSet", Json());
  out["placement"] = Json::object();
  for (const auto& placed : decision.placement.versions)
    out["placement"][std::to_string(placed.version)] = Shown(placed);
  for (const auto& placed : decision.placement.versions)
    out["ready"][std::to_string(placed.version)] = fmt::format("{}", fmt::join(placed.ready, ","));
  out["placed"] = decision.placement.versions.size();
  if (decision.check_again_in) out["checkAgainIn"] = api::FormatDuration(*decision.check_again_in);
  out["events"] = Json::array();
  for (const Event& event : decision.events) out["events"].push_back(event.reason);
  if (!decision.events.empty()) out["lastMessage"] = decision.events.back().message;
  out["failed"] = Json::array();
  for (const auto& failed : decision.status.failed) out["failed"].push_back(failed.version);
  for (const auto& condition : decision.status.conditions) {
    out[condition.type] = condition.status + " " + condition.reason;
    out[condition.type + "Message"] = condition.message;
  }
  return out;
}

// The version to which `undo --to` would return after the decision, and the answer to this command; "" without one.
std::string WayBack(api::Model model, const Decision& decision, const Observed& observed, TimePoint now) {
  model.status = decision.status;
  for (const NodeSeen& node : observed.nodes) model.status.nodes.push_back({node.name, ""});
  const std::optional<int64_t> left = VersionToReturnTo(model);
  if (!left) return "";
  api::Command command = api::CommandFor("undo", model.metadata.generation, model.status);
  command.id = "way back";
  command.to = *left;
  model.status.commands = {command};
  return fmt::format("{}: {}", *left, ToString(Decide(model, observed, now).status.answers.back()));
}

TEST(RolloutGolden, EachCaseGivesTheExpectedDecision) {
  const auto cases = golden::LoadCases("rollout");
  ASSERT_TRUE(cases) << cases.error().message;
  EXPECT_GE(cases->size(), 20u);
  for (const golden::Case& test : *cases) {
    const api::Model model = ModelFrom(test.json);
    const Observed observed = ObservedFrom(test.json);
    const TimePoint now = golden::TimeOf(test.json, "now");
    const Decision decision = Decide(model, observed, now);
    Json outcome = Outcome(decision);
    const std::string way_back = WayBack(model, decision, observed, now);
    outcome["wayBack"] = way_back;
    EXPECT_TRUE(way_back.empty() || way_back.find("undo: done") != std::string::npos) << test.where << way_back;
    EXPECT_FALSE(Child(test.json, "expect").empty()) << test.where;
    for (const std::string& difference : golden::Differences(Child(test.json, "expect"), outcome)) {
      ADD_FAILURE() << test.where << "\n  " << difference << "\n  verdict: " << decision.status.rollout.verdict.message;
    }
  }
}

}  // namespace
}  // namespace longshore::rollout
