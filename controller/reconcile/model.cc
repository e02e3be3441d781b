#include "common/log.h"
#include "controller/api/format.h"
#include "controller/api/parse.h"
#include "controller/nodes/state.h"
#include "controller/reconcile/reconciler.h"
#include "controller/store/document.h"

namespace longshore::reconcile {
namespace {

bool HasEnded(const api::RolloutStatus& before, const api::RolloutStatus& now) {
  const bool is_over = now.phase == api::RolloutPhase::kCompleted || now.phase == api::RolloutPhase::kRolledBack;
  return is_over && (now.phase != before.phase || now.id != before.id);
}

api::Key KeyOf(const api::Model& model) { return {api::kModelKind, model.metadata.namespace_, model.metadata.name}; }

// Nothing is to be written.
Look Done(std::optional<Duration> look_again_in) {
  return {std::nullopt, [=](const Status&) { return look_again_in; }};
}

api::Model WithStatus(api::Model model, const api::ModelStatus& status) {
  model.status = status;
  return model;
}

}  // namespace

Result<Look> Reconciler::BeginModel(const api::Key& key) {
  const auto object = deps_.store.Get(key);
  if (!object && object.error().code == Code::kNotFound) {
    unreadable_.erase(key);
    RemoveModel(key);
    return Done(std::nullopt);
  }
  const Result<api::Model> read = object ? ReadModel(*object) : tl::make_unexpected(object.error());
  NoteReadable(key, read);
  if (!read) return tl::make_unexpected(read.error());
  const api::Model& model = *read;
  const std::string fleet = api::FleetOf(model.metadata, model.spec);
  ASSIGN_OR_RETURN(const std::optional<Refusal> refusal, RefusalByFleet(model, fleet));
  if (const auto known = models_.find(key);
      known != models_.end() && (known->second.fleet != fleet || known->second.served_name != model.spec.served_name ||
                                 (refusal && !known->second.refused))) {
    RemoveModel(key);  // From where it was.
  }
  ModelMemory& memory = models_[key];
  memory.fleet = fleet;
  memory.served_name = model.spec.served_name;
  const std::string conflict = ConflictOf(key, memory);
  memory.refused = refusal || !conflict.empty();
  const std::vector<KnownNode> nodes = KnownNodes(fleet);
  if (IsWaitingForNodes(fleet, nodes)) return Done(Duration(std::chrono::milliseconds(100)));

  const rollout::Observed observed = Observe(model, memory, nodes);
  rollout::Decision decision;
  decision.status = model.status;
  if (!memory.refused) decision = rollout::Decide(model, observed, deps_.clock.Now());
  decision.status.epoch = deps_.nodes.epoch();
  ReportProblems(model, conflict, refusal, decision.status);

  return Carry(model, decision, observed, nodes);
}

// Writes and sends what was decided, and remembers what now holds.
Look Reconciler::Carry(const api::Model& model, const rollout::Decision& decision, const rollout::Observed& observed,
                       const std::vector<KnownNode>& nodes) {
  const api::Key key = KeyOf(model);
  const ModelMemory& memory = models_.at(key);
  std::vector<plan::NodeHolds> holds;
  if (!memory.refused) holds = HoldsOf(memory.fleet, nodes, memory.served_name);
  Look look;
  std::vector<plan::SendModel> after;
  for (plan::Action& action : plan::MakePlan(model, decision, holds)) {
    if (auto* write = std::get_if<plan::WriteStatus>(&action)) {
      look.write = {key, model.metadata.uid, model.metadata.resource_version, api::ToJson(write->status)};
    } else if (look.write) {
      after.push_back(std::move(std::get<plan::SendModel>(action)));
    } else {
      Send(key, std::get<plan::SendModel>(action), memory.fleet);
    }
  }
  look.finish = [this, model, decision, observed, nodes, after = std::move(after)](const Status& written) {
    for (size_t i = 0; written && i < after.size(); ++i) {
      Send(KeyOf(model), after[i], api::FleetOf(model.metadata, model.spec));
    }
    return FinishModel(model, decision, observed, nodes, written);
  };
  return look;
}

Looked Reconciler::FinishModel(const api::Model& model, const rollout::Decision& decision,
                               const rollout::Observed& observed, const std::vector<KnownNode>& nodes,
                               const Status& written) {
  const api::Key key = KeyOf(model);
  if (!written) {
    // New nodes must not wait for a disk that is full: they get what is written down, or what was safer and sent first.
    const bool heard = decision.safety || models_.at(key).refused;
    Remember(key, heard ? WithStatus(model, decision.status) : model,
             heard ? decision.placement : rollout::PlacementNow(model, observed, deps_.clock.Now()), nodes);
    return tl::make_unexpected(written.error());
  }
  Tell(EventsOf(key, model.metadata.uid, decision.events));
  if (HasEnded(model.status.rollout, decision.status.rollout)) deps_.rollout_ended(key, decision.status.rollout);
  TakeEvidence(model, decision, observed);
  Remember(key, WithStatus(model, decision.status), decision.placement, nodes);
  return decision.check_again_in;
}

void Reconciler::TakeEvidence(const api::Model& model, const rollout::Decision& decision,
                              const rollout::Observed& observed) {
  const std::string fleet = api::FleetOf(model.metadata, model.spec);
  const api::RolloutStatus& before = model.status.rollout;
  const api::RolloutStatus& next = decision.status.rollout;
  if (decision.evidence_used) {
    evidence_.Use(fleet, model.spec.served_name, before.candidate, before.stable, observed.windows);
  }
  const bool judged = api::IsUnderWay(next.phase) && !next.analysis.is_null();
  if (!judged || next.id != before.id || before.analysis.is_null()) {
    evidence_.EmptyWindows(fleet, model.spec.served_name);
  }
}

void Reconciler::Remember(const api::Key& key, const api::Model& model, rollout::Placement placement,
                          const std::vector<KnownNode>& nodes) {
  ModelMemory& memory = models_[key];
  memory.model = model;
  memory.placement = std::move(placement);
  bool snapshot_due = false;
  std::set<std::string> seen;
  for (const KnownNode& node : nodes) {
    seen.insert(node.view.hello.node());
    snapshot_due = snapshot_due || (!node.view.sent && !memory.seen_nodes.contains(node.view.hello.node()));
  }
  memory.seen_nodes = std::move(seen);
  if (snapshot_due) deps_.look_at(api::FleetKey(memory.fleet), Duration(0));
}

// Whether it can be read changes what snapshots may be sent and what the fleets' statuses say.
void Reconciler::NoteReadable(const api::Key& key, const Result<api::Model>& model) {
  // A store that does not answer for a moment says nothing of the model.
  if (!model && model.error().code == Code::kUnavailable) return;
  const bool changed =
      model ? unreadable_.erase(key) > 0 : unreadable_.insert_or_assign(key, model.error().message).second;
  if (!changed) return;
  for (const std::string& fleet : deps_.fleet.Fleets()) deps_.look_at(api::FleetKey(fleet), Duration(0));
}

Result<api::Model> Reconciler::ReadModel(const store::Object& object) const {
  auto model = store::ToModel(object);
  if (!model) return Prefixed(model.error(), ToString(store::KeyOf(object)));
  return model;
}

void Reconciler::RemoveModel(const api::Key& key) {
  const auto known = models_.find(key);
  if (known == models_.end()) return;
  const ModelMemory memory = std::move(known->second);
  models_.erase(known);
  for (const auto& [other, its] : models_) {
    if (its.fleet == memory.fleet) deps_.look_at(other, Duration(0));  // Its served name may be free now.
  }
  if (memory.refused) return;
  const std::vector<plan::NodeHolds> holds = HoldsOf(memory.fleet, KnownNodes(memory.fleet), memory.served_name);
  for (const plan::Action& action : plan::MakeRemoval(memory.served_name, holds)) {
    Send(key, std::get<plan::SendModel>(action), memory.fleet);
  }
}

// A fleet that is not there refuses nobody. One that cannot be read changes nothing: its own namespace's Models go on,
// and for others it is an error.
Result<std::optional<Refusal>> Reconciler::RefusalByFleet(const api::Model& model, const std::string& fleet) const {
  const api::Key fleet_key = api::FleetKey(fleet);
  const auto found = deps_.store.Get(fleet_key);
  if (!found && found.error().code == Code::kNotFound) return std::nullopt;
  api::ServingFleet object;
  const auto spec = found ? api::ServingFleetSpecFromJson(found->spec) : tl::make_unexpected(found.error());
  if (!spec && model.metadata.namespace_ == fleet_key.namespace_) return std::nullopt;
  if (!spec) return Prefixed(spec.error(), ToString(fleet_key));
  object.metadata = found->metadata;
  object.spec = *spec;
  const auto serves = [](const api::ModelStatus& status) {
    return status.stable_version != 0 || api::IsUnderWay(status.rollout.phase);
  };
  const Applicant applicant{{api::kModelKind, model.metadata.namespace_, model.metadata.name}, serves(model.status)};
  const bool counts = spec->quotas.models_max || spec->quotas.models_per_namespace_max;
  std::vector<Applicant> others;
  for (const auto& [key, its] : models_) {
    if (!counts || key == applicant.key || its.fleet != fleet || its.refused) continue;
    others.push_back({key, its.model && serves(its.model->status)});
  }
  return RefusalOf(object, applicant, others);
}

// Who serves already keeps the name; otherwise the first in the order of keys gets it.
std::string Reconciler::ConflictOf(const api::Key& key, const ModelMemory& memory) const {
  const auto serves = [](const ModelMemory& its) { return its.model && its.model->status.stable_version != 0; };
  for (const auto& [other, its] : models_) {
    if (other == key || its.fleet != memory.fleet || its.served_name != memory.served_name) continue;
    const bool other_wins = serves(its) != serves(memory) ? serves(its) : other < key;
    if (other_wins) return fmt::format("{} has the served name \"{}\" already", ToString(other), its.served_name);
  }
  return "";
}

std::set<std::string> Reconciler::NodesLeaving(const std::string& fleet) const {
  std::set<std::string> leaving;
  for (const fleet::NodeInfo& node : deps_.fleet.Nodes(fleet)) {
    if (node.state == fleet::NodeState::kStopping) leaving.insert(node.node);
  }
  return leaving;
}

rollout::Observed Reconciler::Observe(const api::Model& model, const ModelMemory& memory,
                                      const std::vector<KnownNode>& nodes) {
  const std::set<std::string> leaving = NodesLeaving(memory.fleet);
  rollout::Observed observed;
  for (const KnownNode& node : nodes) {
    observed.nodes.push_back(SeenOf(node, memory.served_name, leaving.contains(node.view.hello.node())));
  }
  observed.latest_version = LatestVersion(nodes, memory.served_name);
  const api::RolloutStatus& rollout = model.status.rollout;
  observed.windows = evidence_.Windows(memory.fleet, memory.served_name, rollout.candidate, rollout.stable);
  observed.stable_past = evidence_.Past(memory.fleet, memory.served_name, model.status.stable_version);
  return observed;
}

void Reconciler::Send(const api::Key& key, const plan::SendModel& send, const std::string& fleet) {
  control::FromController message;
  message.mutable_change()->set_served_name(send.served_name);
  if (send.state) *message.mutable_change()->mutable_model() = *send.state;
  const Status sent = deps_.nodes.Send(fleet, send.node, std::move(message));
  // A node that has just left gets a snapshot when it comes back.
  if (!sent) spdlog::debug("{}: {}", ToString(key), sent.error().message);
}

// Nodes without a snapshot on this stream get one from the fleet's look instead. Nodes that drain keep what they have
// for the requests that are left.
std::vector<plan::NodeHolds> Reconciler::HoldsOf(const std::string& fleet, const std::vector<KnownNode>& nodes,
                                                 const std::string& served_name) const {
  const std::set<std::string> leaving = NodesLeaving(fleet);
  std::vector<plan::NodeHolds> holds;
  for (const KnownNode& node : nodes) {
    if (!node.attached || !node.view.sent || node.view.report->draining() || leaving.contains(node.view.hello.node())) {
      continue;
    }
    plan::NodeHolds held{node.view.hello.node(), {}};
    if (const control::ModelState* state = nodes::FindModel(*node.view.sent, served_name); state != nullptr) {
      held.state = *state;
    }
    holds.push_back(std::move(held));
  }
  return holds;
}

void Reconciler::ReportProblems(const api::Model& model, const std::string& conflict,
                                const std::optional<Refusal>& refusal, api::ModelStatus& status) const {
  const auto set = [&](const std::string& type, bool good, const std::string& reason, const std::string& message) {
    SetCondition(status.conditions,
                 {type, good ? "True" : "False", reason, message, status.observed_generation, deps_.clock.Now()});
  };
  const bool refused = refusal || !conflict.empty();
  if (refused) {  // Nothing was decided, so this is all there is to say of this generation.
    status.observed_generation = model.metadata.generation;
    const std::string reason = refusal ? refusal->reason : "NameConflict";
    set("Ready", false, reason, refusal ? refusal->message : conflict);
    set("Reconciling", false, reason, "");
    set("Stalled", true, reason, refusal ? refusal->message : conflict);
  }
  const auto problem = deps_.problem_of({api::kModelKind, model.metadata.namespace_, model.metadata.name});
  set("ManifestAccepted", !problem, problem ? problem->reason : "Applied", problem ? problem->message : "");
  set("NameAccepted", conflict.empty(), conflict.empty() ? "Unique" : "Conflict", conflict);
  const std::string fleet = api::FleetOf(model.metadata, model.spec);
  const bool has_fleet = deps_.store.Get(api::FleetKey(fleet)).has_value();
  set("FleetFound", has_fleet, has_fleet ? "Found" : "NotFound",
      has_fleet ? "" : fmt::format("there is no ServingFleet {}", fleet));
}

}  // namespace longshore::reconcile
