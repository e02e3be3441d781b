#include "controller/reconcile/shared.h"

#include <algorithm>
#include <utility>

#include "common/os/log.h"
#include "controller/store/document.h"

namespace longshore::reconcile {

Shared::Shared(Deps dependencies, Options settings)
    : deps(std::move(dependencies)), options(std::move(settings)), began(deps.timer.Now()) {
  for (const std::string& fleet : deps.fleet.Fleets()) {
    for (const fleet::NodeInfo& node : deps.fleet.Nodes(fleet)) {
      if (node.state != fleet::NodeState::kRunning) continue;
      FleetMemory& memory = FleetOf(fleet);
      memory.awaited.insert(node.node);
      memory.balancer.Adopt(node.node);
    }
  }
}

FleetMemory& Shared::FleetOf(const std::string& fleet) {
  return fleets.try_emplace(fleet, options.reconnect_grace).first->second;
}

Result<api::ServingFleet> Shared::ReadFleet(const std::string& fleet) const {
  const api::Key key = api::FleetKey(fleet);
  ASSIGN_OR_RETURN(const store::Object object, deps.store.Get(key));
  auto read = store::ToFleet(object);
  if (!read) return Prefixed(read.error(), ToString(key));
  return read;
}

const Result<api::ServingFleet>& Shared::ObjectOf(const std::string& fleet) {
  FleetMemory& memory = FleetOf(fleet);
  const bool is_known = memory.object && (*memory.object || memory.object->error().code == Code::kNotFound);
  if (!is_known) memory.object = ReadFleet(fleet);
  return *memory.object;
}

api::ObservedFleet Shared::ObservedFleetOf(const std::string& fleet) {
  const Result<api::ServingFleet>& object = ObjectOf(fleet);
  if (!object) return {};
  const std::optional<api::ObservedFleet>& observed = FleetOf(fleet).observed;
  return observed && observed->uid == object->metadata.uid ? *observed : api::ToObserve(*object);
}

const std::string& Shared::WhyUnreachable(const std::string& fleet) {
  FleetMemory& memory = FleetOf(fleet);
  if (!memory.unreachable) memory.unreachable = deps.fleet.ProgressOf(fleet).unreachable;
  return *memory.unreachable;
}

void Shared::QueueAll(const std::set<api::Key>& keys) const {
  for (const api::Key& key : keys) deps.queue(key, Duration(0));
}

void Shared::RecordEvents(const std::vector<Event>& events) const {
  for (const Event& event : events) {
    spdlog::log(event.warning ? spdlog::level::warn : spdlog::level::info, "{}: {}: {}", ToString(event.object),
                event.reason, ForLog(event.message));
    deps.record_event(event);
  }
}

void Shared::SetRecipients(const api::Key& key, ModelMemory& memory, std::set<std::string> nodes) {
  FleetMemory& fleet = FleetOf(memory.fleet);
  for (const std::string& node : memory.recipients) {
    if (nodes.contains(node)) continue;
    const auto found = fleet.of_node.find(node);
    found->second.erase(key);
    if (found->second.empty()) fleet.of_node.erase(found);
  }
  for (const std::string& node : nodes) fleet.of_node[node].insert(key);
  memory.recipients = std::move(nodes);
}

void Shared::ReadNodes(const std::string& fleet, FleetMemory& memory, const std::vector<fleet::NodeInfo>& node_infos) {
  const std::vector<nodes::ViewPtr> views = deps.nodes.Nodes(fleet);
  Changes changes = memory.book.Update(views, node_infos, deps.timer.Now());
  for (const nodes::ViewPtr& view : changes.reported) {
    evidence.Take(fleet, view->hello.node(), view->hello.incarnation(), *view->report);
  }
  if (!changes.reported.empty() || !changes.nodes.empty()) QueueAll(memory.awaiting_routing);
  for (const std::string& node : changes.nodes) AwaitDecisions(memory, node);
  if (const auto until = memory.book.grace_until()) {
    deps.queue(api::FleetKey(fleet), std::max(Duration(0), *until - deps.timer.Now()) + Duration(1));
  }
  ForgetGoneNodes(fleet, views, node_infos);
  memory.changes.models.merge(changes.models);
  memory.changes.nodes.merge(changes.nodes);
  memory.nodes_were_read = true;
}

// Records the Models that a new node waits for: it gets its snapshot only after a decision on each Model that depends
// on the set of nodes or that the node reports.
void Shared::AwaitDecisions(FleetMemory& memory, const std::string& node) {
  memory.undecided.erase(node);
  const KnownNode* known = memory.book.Find(node);
  if (known == nullptr || known->view->sent) return;
  std::set<api::Key> affected = memory.placed_by_nodes;
  for (const control::VersionReport& version : known->view->report->versions()) {
    const auto of_name = memory.models.find(version.served_name());
    if (of_name != memory.models.end()) affected.insert(of_name->second.begin(), of_name->second.end());
  }
  if (!affected.empty()) memory.undecided.emplace(node, std::move(affected));
}

// A node that left the fleet does not come back with the same name and state, so its entries can be removed.
void Shared::ForgetGoneNodes(const std::string& fleet, const std::vector<nodes::ViewPtr>& views,
                             const std::vector<fleet::NodeInfo>& node_infos) {
  std::set<std::string_view> there;
  for (const fleet::NodeInfo& node_info : node_infos) there.insert(node_info.node);
  for (const nodes::ViewPtr& view : views) {
    const std::string& node = view->hello.node();
    if (view->connected || there.contains(node)) continue;
    deps.nodes.Forget(fleet, node);
    evidence.ForgetNode(fleet, node);
  }
}

}  // namespace longshore::reconcile
