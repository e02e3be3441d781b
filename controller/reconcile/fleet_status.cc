#include "controller/reconcile/fleet_status.h"

#include <algorithm>
#include <optional>

namespace longshore::reconcile {
namespace {

std::string StateOf(const FleetSeen& seen, const fleet::NodeInfo& process, const KnownNode* node) {
  if (process.state == fleet::NodeState::kBackingOff) return "Restarting";
  if (IsLeaving(process) || (node != nullptr && IsDraining(*node))) return "Draining";
  if (seen.silent.contains(process.node)) return "NotAnswering";
  return node != nullptr && node->attached && node->ready ? "Ready" : "Starting";
}

// The node as in the status of before; nullopt if it was not there or was another process.
std::optional<api::FleetNodeStatus> FormerEntry(const api::ServingFleetStatus& before, const fleet::NodeInfo& process) {
  const auto found = std::ranges::find(before.nodes, process.node, &api::FleetNodeStatus::name);
  if (found != before.nodes.end()) return found->pid == process.pid ? std::optional(*found) : std::nullopt;
  // A long list leaves out nodes that are ready (LimitNodes).
  if (before.nodes.size() < api::kNodesMax) return std::nullopt;
  return api::FleetNodeStatus{process.node, process.pid, "Ready", ""};
}

api::FleetNodeStatus EntryOf(const FleetSeen& seen, const api::ServingFleetStatus& before,
                             const fleet::NodeInfo& process, const KnownNode* node) {
  const std::string state = StateOf(seen, process, node);
  if (state == "Starting" && seen.returning.contains(process.node)) {
    if (const auto former = FormerEntry(before, process)) return *former;
  }
  return {process.node, process.pid, state, node == nullptr ? "" : node->view->hello.admin_address()};
}

// Adds to `troubles` the error of the last exit of a node, and the error with which the node refused its state.
void AddTroubles(const FleetSeen& seen, const fleet::NodeInfo& process, const KnownNode* node, const std::string& state,
                 std::vector<api::Sentence>& troubles) {
  const bool is_unconnected = seen.unconnected.contains(process.node);
  if (state == "NotAnswering") {
    troubles.push_back({process.node, fmt::format(" does not answer, although its process {} runs", process.pid)});
  } else if (is_unconnected) {
    troubles.push_back(
        {process.node, fmt::format(" has no stream to the controller, although its process {} answers", process.pid)});
  } else if (!process.last_exit.empty() && state != "Ready") {
    troubles.push_back({process.node, " " + process.last_exit});
  }
  if (node != nullptr && !node->view->ack_error.empty()) {
    troubles.push_back({process.node, fmt::format(" refused its state: {}", node->view->ack_error)});
  }
}

// Returns what nodes cannot write to their disks, and why; "" if they can write everything.
std::string StorageTrouble(const FleetSeen& seen) {
  std::vector<api::Sentence> troubles;
  for (const fleet::NodeInfo& process : seen.processes) {
    const auto node = seen.nodes->find(process.node);
    if (node == seen.nodes->end()) continue;
    for (const control::StorageProblem& problem : node->second.view->report->storage())
      troubles.push_back({process.node, fmt::format(" cannot write its {}: {}", problem.what(), problem.message())});
  }
  return api::JoinSentences(troubles, {.noun = "trouble"});
}

// Returns why the fleet has too few or too many nodes, or may lose some; "" if there is no problem.
std::string ScalingTrouble(const FleetSeen& seen) {
  std::vector<api::Sentence> troubles;
  if (!seen.scaled) troubles.push_back({"", seen.scaled.error().message});
  for (const fleet::NodeInfo& process : seen.processes) {
    if (!process.trouble.empty()) troubles.push_back({process.node + ": ", process.trouble});
  }
  return api::JoinSentences(troubles);
}

bool HasReservedName(const FleetSeen& seen) {
  return !seen.addresses && seen.addresses.error().code == Code::kAlreadyExists;
}

struct Readiness {
  bool ready = false;
  std::string reason;
  std::string message;
};

// A fleet is ready if all nodes that it should have are ready and are those of the spec, and if its address answers. So
// it cannot be ready only because a change has not reached the nodes yet.
Readiness ReadinessOf(const FleetSeen& seen, const api::ServingFleetStatus& status,
                      const std::vector<api::Sentence>& troubles) {
  if (HasReservedName(seen)) return {false, "ReservedName", seen.addresses.error().message};
  const int nodes = std::max(status.replicas, seen.wanted);
  const std::string count = fmt::format("{} of {} nodes are ready", status.ready_replicas, nodes);
  if (status.ready_replicas == 0 || status.ready_replicas < nodes) {
    const std::string why = api::JoinSentences(troubles, {.noun = "trouble"});
    return {false, "NodesNotReady", fmt::format("{}{}{}", count, why.empty() ? "" : "; ", why)};
  }
  if (!seen.progress.unfinished.empty())
    return {false, "NodesNotAsWanted", fmt::format("{}; {}", count, seen.progress.unfinished)};
  if (!seen.progress.unreachable.empty())
    return {false, "NotReachable", fmt::format("{}; {}", count, seen.progress.unreachable)};
  if (!seen.progress.unchecked.empty())
    return {true, "AllNodesReady", fmt::format("{}; {}", count, seen.progress.unchecked)};
  return {true, "AllNodesReady", count};
}

// Keeps at most `api::kNodesMax` nodes of the list; nodes that are not ready have precedence.
void LimitNodes(std::vector<api::FleetNodeStatus>& nodes) {
  if (nodes.size() <= api::kNodesMax) return;
  std::ranges::stable_partition(nodes, [](const api::FleetNodeStatus& node) { return node.state != "Ready"; });
  nodes.resize(api::kNodesMax);
  std::ranges::sort(nodes, {}, &api::FleetNodeStatus::name);
}

// The condition is Unknown while no node has reported: then it says nothing about the disks. While nodes return to a
// new controller, it is as before.
api::Condition StorageCondition(const FleetSeen& seen, const api::ServingFleetStatus& before) {
  const auto returns = [&](const fleet::NodeInfo& process) { return seen.returning.contains(process.node); };
  const auto former = std::ranges::find(before.conditions, "StorageWritable", &api::Condition::type);
  if (former != before.conditions.end() && std::ranges::any_of(seen.processes, returns)) return *former;
  const auto has_reported = [&](const fleet::NodeInfo& process) { return seen.nodes->contains(process.node); };
  if (std::ranges::none_of(seen.processes, has_reported))
    return {"StorageWritable", "Unknown", "NoReports", "no node has reported yet", 0, {}};
  const std::string trouble = StorageTrouble(seen);
  if (!trouble.empty()) return {"StorageWritable", "False", "CannotWrite", trouble, 0, {}};
  return {"StorageWritable", "True", "Writable", "", 0, {}};
}

}  // namespace

std::string TroubleOf(const FleetSeen& seen) {
  return seen.addresses ? ScalingTrouble(seen) : seen.addresses.error().message;
}

api::ServingFleetStatus DescribeFleet(const api::ServingFleet& before, const FleetSeen& seen, TimePoint now) {
  api::ServingFleetStatus status = before.status;
  status.epoch = seen.epoch;
  status.observed_generation = before.metadata.generation;
  status.nodes.clear();
  status.ready_replicas = 0;
  std::vector<api::Sentence> troubles;
  for (const fleet::NodeInfo& process : seen.processes) {
    const auto known = seen.nodes->find(process.node);
    const KnownNode* node = known == seen.nodes->end() ? nullptr : &known->second;
    status.nodes.push_back(EntryOf(seen, before.status, process, node));
    AddTroubles(seen, process, node, status.nodes.back().state, troubles);
  }
  status.ready_replicas = static_cast<int>(std::ranges::count(status.nodes, "Ready", &api::FleetNodeStatus::state));
  LimitNodes(status.nodes);
  status.replicas = CountStaying(seen.processes);
  if (seen.addresses) {
    status.grpc_address = seen.addresses->grpc;
    status.rest_address = seen.addresses->rest;
    status.selector = seen.addresses->pod_selector;
    status.image = seen.addresses->pod_image;
    status.controller_lease = seen.addresses->controller_lease;
    status.image_from_spec = !before.spec.pods.image.empty();
  }
  const auto set = [&](const std::string& type, bool good, const std::string& reason, const std::string& message) {
    SetCondition(status.conditions, {type, good ? "True" : "False", reason, message, status.observed_generation, now});
  };
  set("Listening", seen.addresses.has_value(),
      HasReservedName(seen) ? "ReservedName"
      : seen.addresses      ? "Listening"
                            : "CannotListen",
      seen.addresses ? "" : seen.addresses.error().message);
  const auto [ready, reason, message] = ReadinessOf(seen, status, troubles);
  set("Ready", ready, reason, message);
  const std::string scaling = ScalingTrouble(seen);
  const std::string departing = api::JoinSentences(seen.departing);
  const bool scaled = scaling.empty() && departing.empty();
  set("Scaled", scaled,
      !scaling.empty() ? "NodesInTrouble"
      : scaled         ? "NodesAsWanted"
                       : "VersionsMove",
      scaling.empty() ? departing : scaling);
  const bool stalled = !seen.addresses || !scaling.empty();
  set("Stalled", stalled, HasReservedName(seen) ? "ReservedName" : stalled ? "NeedsHelp" : "None", TroubleOf(seen));
  const bool leave = status.replicas > seen.wanted;
  const std::string progress = !ready || (scaled && !leave) ? reason : scaled ? "NodesLeave" : "VersionsMove";
  set("Reconciling", !stalled && !(ready && scaled && !leave), progress, "");
  set("ManifestAccepted", !seen.manifest, seen.manifest ? seen.manifest->reason : "Applied",
      seen.manifest ? seen.manifest->message : "");
  set("ModelsReadable", seen.unreadable.empty(), seen.unreadable.empty() ? "Readable" : "Damaged",
      seen.unreadable.empty()
          ? "the controller can read all Model objects (this says nothing about the files of models)"
          : api::JoinSentences(seen.unreadable, {.noun = "Model"}));
  api::Condition storage = StorageCondition(seen, before.status);
  storage.observed_generation = status.observed_generation;
  storage.last_transition = now;
  SetCondition(status.conditions, storage);
  return status;
}

}  // namespace longshore::reconcile
