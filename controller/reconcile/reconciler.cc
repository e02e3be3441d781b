#include "controller/reconcile/reconciler.h"

#include <algorithm>

#include "common/log.h"

namespace longshore::reconcile {

Reconciler::Reconciler(Deps deps, Options options)
    : deps_(std::move(deps)), options_(std::move(options)), began_(deps_.timer.Now()), memory_(options_.patience) {
  for (const std::string& fleet : deps_.fleet.Fleets()) {
    for (const fleet::NodeInfo& node : deps_.fleet.Nodes(fleet)) {
      if (node.state == fleet::NodeState::kRunning) awaited_[fleet].insert(node.node);
    }
  }
}

Looked Reconciler::Reconcile(const api::Key& key) {
  ASSIGN_OR_RETURN(const Look look, Begin(key));
  return look.finish(look.write ? Write(*look.write) : Status());
}

Result<Look> Reconciler::Begin(const api::Key& key) {
  LearnModels();
  return key.kind == api::kServingFleetKind ? BeginFleet(key) : BeginModel(key);
}

Status Reconciler::Write(const StatusWrite& write) const {
  RETURN_IF_ERROR(deps_.store.PutStatus(write.key, write.uid, write.resource_version, write.status));
  return {};
}

// All models have to be known before a node gets a snapshot, which would otherwise take them from it.
void Reconciler::LearnModels() {
  if (learned_) return;
  const auto listing = deps_.store.List(api::kModelKind);
  if (!listing) {
    spdlog::error("cannot list the models: {}", listing.error().message);
    return;
  }
  for (const store::Unreadable& object : listing->unreadable) unreadable_[object.key] = object.why;
  for (const store::Object& object : listing->objects) {
    const api::Key key{object.kind, object.metadata.namespace_, object.metadata.name};
    const auto model = ReadModel(object);
    if (!model) unreadable_[key] = model.error().message;
    if (!model) continue;
    ModelMemory& memory = models_[key];
    memory.fleet = api::FleetOf(object.metadata, model->spec);
    memory.served_name = model->spec.served_name;
    memory.model = *model;
  }
  learned_ = true;
}

std::vector<KnownNode> Reconciler::KnownNodes(const std::string& fleet) {
  const std::vector<nodes::NodeView> views = deps_.nodes.Nodes(fleet);
  for (const nodes::NodeView& view : views) {
    if (view.reported) evidence_.Take(fleet, view.hello.node(), view.hello.incarnation(), *view.report);
  }
  return memory_.Update(fleet, views, deps_.fleet.Nodes(fleet), deps_.timer.Now());
}

void Reconciler::Tell(const std::vector<Event>& events) const {
  for (const Event& event : events) {
    spdlog::log(event.warning ? spdlog::level::warn : spdlog::level::info, "{}: {}: {}", ToString(event.object),
                event.reason, ForLog(event.message));
    deps_.tell(event);
  }
}

// A node that ran before us and has not spoken yet would look empty, and everything would move away from it.
bool Reconciler::IsWaitingForNodes(const std::string& fleet, const std::vector<KnownNode>& nodes) {
  const auto found = awaited_.find(fleet);
  if (found == awaited_.end()) return false;
  std::set<std::string> running;
  for (const fleet::NodeInfo& node : deps_.fleet.Nodes(fleet)) {
    if (node.state == fleet::NodeState::kRunning) running.insert(node.node);
  }
  std::erase_if(found->second, [&](const std::string& name) {
    const bool spoke =
        std::any_of(nodes.begin(), nodes.end(), [&](const KnownNode& node) { return node.view.hello.node() == name; });
    return spoke || !running.contains(name);
  });
  if (!found->second.empty() && deps_.timer.Now() - began_ < options_.adoption_patience) return true;
  awaited_.erase(found);
  return false;
}

}  // namespace longshore::reconcile
