#include "controller/reconcile/reconciler.h"

#include <algorithm>

#include "common/log.h"
#include "controller/store/document.h"

namespace longshore::reconcile {

Reconciler::Reconciler(Deps deps, Options options)
    : deps_(std::move(deps)), options_(std::move(options)), began_(deps_.timer.Now()) {
  for (const std::string& fleet : deps_.fleet.Fleets()) {
    for (const fleet::NodeInfo& node : deps_.fleet.Nodes(fleet)) {
      if (node.state == fleet::NodeState::kRunning) FleetOf(fleet).awaited.insert(node.node);
    }
  }
}

Outcome Reconciler::Reconcile(const api::Key& key) {
  ASSIGN_OR_RETURN(const Reconciliation reconciliation, Begin(key));
  return reconciliation.finish(reconciliation.write ? Write(*reconciliation.write) : Status());
}

Result<Reconciliation> Reconciler::Begin(const api::Key& key) {
  LearnModels();
  return key.kind == api::kServingFleetKind ? BeginFleet(key) : BeginModel(key);
}

Status Reconciler::Write(const StatusWrite& write) const {
  RETURN_IF_ERROR(deps_.store.PutStatus(write.key, write.uid, write.resource_version, write.status));
  return {};
}

// All Models must be known before a node gets a snapshot: a snapshot without one of them would unload it.
void Reconciler::LearnModels() {
  if (learned_) return;
  const auto keys = deps_.store.Keys(api::kModelKind);
  if (!keys) {
    spdlog::error("cannot list the models: {}", keys.error().message);
    return;
  }
  for (const api::Key& key : *keys) {
    const auto object = deps_.store.Get(key);
    if (!object && object.error().code == Code::kNotFound) continue;
    const auto model = object ? ReadModel(*object) : tl::make_unexpected(object.error());
    if (!model) unreadable_[key] = model.error().message;
    if (model) MemoryOf(*model, false);
  }
  learned_ = true;
}

Reconciler::FleetMemory& Reconciler::FleetOf(const std::string& fleet) {
  return fleets_.try_emplace(fleet, options_.reconnect_grace).first->second;
}

Result<api::ServingFleet> Reconciler::ReadFleet(const std::string& fleet) const {
  const api::Key key = api::FleetKey(fleet);
  ASSIGN_OR_RETURN(const store::Object object, deps_.store.Get(key));
  auto read = store::ToFleet(object);
  if (!read) return Prefixed(read.error(), ToString(key));
  return read;
}

// The object as of the fleet's last reconciliation; each change of the object triggers one.
const Result<api::ServingFleet>& Reconciler::ObjectOf(const std::string& fleet) {
  FleetMemory& memory = FleetOf(fleet);
  const bool is_known = memory.object && (*memory.object || memory.object->error().code == Code::kNotFound);
  if (!is_known) memory.object = ReadFleet(fleet);
  return *memory.object;
}

void Reconciler::QueueAll(const std::set<api::Key>& models) const {
  for (const api::Key& model : models) deps_.queue(model, Duration(0));
}

void Reconciler::RecordEvents(const std::vector<Event>& events) const {
  for (const Event& event : events) {
    spdlog::log(event.warning ? spdlog::level::warn : spdlog::level::info, "{}: {}: {}", ToString(event.object),
                event.reason, ForLog(event.message));
    deps_.record_event(event);
  }
}

// A node that was started before this controller and has not reported yet would seem to hold no versions, and all
// Models would be moved away from it.
bool Reconciler::IsWaitingForNodes(FleetMemory& memory, const std::vector<fleet::NodeInfo>& machines) const {
  if (memory.awaited.empty()) return false;
  std::set<std::string> running;
  for (const fleet::NodeInfo& machine : machines) {
    if (machine.state == fleet::NodeState::kRunning) running.insert(machine.node);
  }
  std::erase_if(memory.awaited,
                [&](const std::string& node) { return memory.book.Find(node) != nullptr || !running.contains(node); });
  if (deps_.timer.Now() - began_ >= options_.adoption_grace) memory.awaited.clear();
  return !memory.awaited.empty();
}

}  // namespace longshore::reconcile
