#include "controller/reconcile/model_reconciler.h"

#include <algorithm>
#include <utility>

#include "common/os/log.h"
#include "controller/api/format.h"
#include "controller/api/parse.h"
#include "controller/api/sentences.h"
#include "controller/decide/rollout/routing.h"
#include "controller/store/document.h"

namespace longshore::reconcile {
namespace {

bool HasEnded(const api::RolloutStatus& before, const api::RolloutStatus& now) {
  const bool is_over = now.phase == api::RolloutPhase::kCompleted || now.phase == api::RolloutPhase::kRolledBack;
  return is_over && (IsUnderWay(before.phase) || now.id != before.id);
}

api::Key KeyOf(const api::Model& model) { return {api::kModelKind, model.metadata.namespace_, model.metadata.name}; }

// Returns a reconciliation that writes nothing.
Reconciliation Done(std::optional<Duration> check_again_in) {
  return {std::nullopt, [=](const Status&) { return check_again_in; }};
}

// Whether it has a stable version, or a rollout that is under way.
bool Serves(const api::ModelStatus& status) {
  return status.stable_version != 0 || api::IsUnderWay(status.rollout.phase);
}

api::Model WithStatus(api::Model model, const api::ModelStatus& status) {
  model.status = status;
  return model;
}

api::ModelStatus WithoutCommands(api::ModelStatus status) {
  status.command.reset();
  status.commands.clear();
  return status;
}

bool HasCommands(const api::ModelStatus& status) { return status.command || !status.commands.empty(); }

// Whether the unwritten decision can still be used for `model`. If the spec has changed since (the generation differs),
// a decision with evidence can still be used; without evidence, it is a decision of a first rollout and is made again.
bool StillApplies(const Unwritten& unwritten, const api::Model& model) {
  const bool same_status = unwritten.uid == model.metadata.uid && unwritten.from == WithoutCommands(model.status);
  return same_status &&
         (unwritten.generation == model.metadata.generation || !unwritten.status.rollout.analysis.is_null());
}

}  // namespace

void ModelReconciler::Learn() {
  if (shared_.models_are_known) return;
  const auto keys = shared_.deps.store.Keys(api::kModelKind);
  if (!keys) {
    spdlog::error("cannot list the models: {}", keys.error().message);
    return;
  }
  for (const api::Key& key : *keys) {
    const auto object = shared_.deps.store.Get(key);
    if (!object && object.error().code == Code::kNotFound) continue;
    const auto model = object ? ReadModel(*object) : tl::make_unexpected(object.error());
    if (!model) shared_.unreadable[key] = model.error().message;
    if (model) MemoryOf(*model, false);
  }
  shared_.models_are_known = true;
}

Result<Reconciliation> ModelReconciler::Begin(const api::Key& key) {
  const auto object = shared_.deps.store.Get(key);
  if (!object && object.error().code == Code::kNotFound) {
    shared_.unreadable.erase(key);
    RemoveModel(key);
    return Done(std::nullopt);
  }
  const Result<api::Model> read = object ? ReadModel(*object) : tl::make_unexpected(object.error());
  NoteReadable(key, read);
  if (!read) return tl::make_unexpected(read.error());
  api::Model model = *read;
  RestoreNewFields(model);
  const std::string fleet = api::FleetOf(model.metadata, model.spec);
  ASSIGN_OR_RETURN(const std::optional<Refusal> refusal, RefusalByFleet(model, fleet));
  ModelMemory& memory = MemoryOf(model, refusal.has_value());
  NoteNewFields(model, model.status);
  const std::string conflict = ConflictOf(key, memory);
  memory.refused = refusal || !conflict.empty();
  FleetMemory& of_fleet = shared_.FleetOf(fleet);
  if (!of_fleet.nodes_were_read) shared_.ReadNodes(fleet, of_fleet, shared_.deps.fleet.Nodes(fleet));
  // The fleet's reconciliation schedules this Model when the nodes have connected. The returned time is for the case
  // that they never connect.
  const Duration grace_left = shared_.began + shared_.options.adoption_grace - shared_.deps.timer.Now();
  if (!of_fleet.awaited.empty() && grace_left > Duration(0)) return Done(grace_left);

  const bool still_applies = memory.unwritten && StillApplies(*memory.unwritten, model);
  if (!still_applies) memory.unwritten.reset();
  api::Model from = still_applies ? WithStatus(model, memory.unwritten->status) : model;
  from.status.command = model.status.command;
  from.status.commands = model.status.commands;
  const rollout::Observed observed = Observe(from, memory);
  rollout::Decision decision;
  decision.status = from.status;
  if (!memory.refused) decision = rollout::Decide(from, observed, shared_.deps.clock.Now());
  decision.status.epoch = shared_.deps.nodes.epoch();
  if (!memory.refused) {
    const Duration traffic_due_in = RecordTraffic(memory, decision.status);
    decision.check_again_in = std::min(decision.check_again_in.value_or(traffic_due_in), traffic_due_in);
    // What is on the disk now is what failed; the next reconciliation may be much later.
    if (shared_.deps.failed_files != nullptr && decision.status.failed != from.status.failed)
      shared_.deps.failed_files->Watch(WithStatus(model, decision.status));
  }
  if (decision.awaits_routing) of_fleet.awaiting_routing.insert(key);
  if (!decision.awaits_routing) of_fleet.awaiting_routing.erase(key);
  decision.status.observed_fleet = observed.fleet_seen;
  ReportProblems(model, conflict, refusal, decision.status);
  if (still_applies) {
    decision.events.insert(decision.events.begin(), memory.unwritten->events.begin(), memory.unwritten->events.end());
  }
  return Apply(model, decision, observed);
}

void ModelReconciler::RestoreNewFields(api::Model& model) const {
  const auto known = shared_.models.find(KeyOf(model));
  if (known == shared_.models.end() || !known->second.new_fields) return;
  const NewFields& fields = *known->second.new_fields;
  if (fields.uid != model.metadata.uid) return;
  if (model.status.answers.empty()) model.status.answers = fields.answers;
  if (model.status.traffic == api::Traffic{}) model.status.traffic = fields.traffic;
  if (model.status.observed_fleet.uid.empty()) model.status.observed_fleet = fields.observed_fleet;
}

// `status` is in the store, so its commands have really been answered.
void ModelReconciler::NoteNewFields(const api::Model& model, const api::ModelStatus& status) {
  ModelMemory& memory = shared_.models.at(KeyOf(model));
  memory.new_fields.reset();
  if (status.answers.empty() && status.traffic == api::Traffic{} && status.observed_fleet.uid.empty()) return;
  memory.new_fields =
      std::make_unique<NewFields>(NewFields{model.metadata.uid, status.answers, status.traffic, status.observed_fleet});
}

traffic::Counted ModelReconciler::CountRequests(const ModelMemory& memory) const {
  const api::ArmEvidence total = shared_.evidence.Total(memory.fleet, memory.served_name);
  return {shared_.deps.clock.Now(), total.requests, total.errors};
}

// Updates the record of the traffic in the status if it is due; returns the time until it is due again.
Duration ModelReconciler::RecordTraffic(ModelMemory& memory, api::ModelStatus& status) const {
  if (const auto record = memory.traffic.Count(status.traffic, CountRequests(memory))) status.traffic = *record;
  return memory.traffic.due_in();
}

// Returns the memory of the Model, which is created if the Model is new. If its fleet or its served name has changed,
// or if it is refused now and was not before, the Model is first removed with RemoveModel.
ModelMemory& ModelReconciler::MemoryOf(const api::Model& model, bool refused) {
  const api::Key key = KeyOf(model);
  const std::string fleet = api::FleetOf(model.metadata, model.spec);
  if (const auto known = shared_.models.find(key);
      known != shared_.models.end() &&
      (known->second.fleet != fleet || known->second.served_name != model.spec.served_name ||
       (refused && !known->second.refused))) {
    RemoveModel(key);
  }
  const auto [at, is_new] = shared_.models.try_emplace(key);
  ModelMemory& memory = at->second;
  if (!is_new) return memory;
  memory.fleet = fleet;
  memory.served_name = model.spec.served_name;
  NoteModel(model, memory);
  FleetMemory& of_fleet = shared_.FleetOf(fleet);
  of_fleet.models[memory.served_name].insert(key);
  of_fleet.placed_by_nodes.insert(key);
  return memory;
}

void ModelReconciler::NoteModel(const api::Model& model, ModelMemory& memory) {
  memory.has_stable = model.status.stable_version != 0;
  memory.serves = Serves(model.status);
  memory.latency_target = model.spec.slo.latency_target;
  memory.latency_quantile = model.spec.slo.latency_quantile;
}

// How long the status in this decision may stay unwritten.
Duration ModelReconciler::MayWaitFor(const api::Model& model, const rollout::Decision& decision) const {
  const api::ModelStatus& status = decision.status;
  const ModelMemory& memory = shared_.models.at(KeyOf(model));
  if (memory.refused || HasCommands(model.status)) return Duration(0);
  if (rollout::OnlyEvidenceIsNew(model.status, status) && shared_.options.evidence_unwritten_min > Duration(0)) {
    constexpr Duration kMinute = std::chrono::minutes(1);
    const Duration lasted = model.status.rollout.evidence_used_at - model.status.rollout.step_started_at;
    return std::clamp(std::max(std::min(lasted, kMinute), lasted / 10), shared_.options.evidence_unwritten_min,
                      shared_.options.evidence_unwritten_max);
  }
  // Several nodes often change within a second, each of them several times.
  if (rollout::OnlyDetailsAreNew(model.status, status)) return shared_.options.unwritten_max;
  // The phases of a first rollout may last only a moment. Then one write covers all of them, until the nodes route
  // requests by it.
  const api::RolloutPhase phase = status.rollout.phase;
  const bool is_first =
      model.status.stable_version == 0 &&
      (phase == api::RolloutPhase::kNone || phase == api::RolloutPhase::kValidating ||
       phase == api::RolloutPhase::kLoading || (phase == api::RolloutPhase::kCompleted && decision.awaits_routing));
  return is_first && status.failed.empty() ? shared_.options.unwritten_max : Duration(0);
}

// Turns the decision into a status write and messages to nodes, and records the new state.
Reconciliation ModelReconciler::Apply(const api::Model& model, const rollout::Decision& decision,
                                      const rollout::Observed& observed) {
  const api::Key key = KeyOf(model);
  const ModelMemory& memory = shared_.models.at(key);
  std::vector<plan::NodeHolds> holds;
  if (!memory.refused) {
    holds = HoldsOf(memory,
                    plan::RecipientNodes(memory.served_name, decision.placement, *shared_.FleetOf(memory.fleet).peers));
  }
  const Duration at_most = MayWaitFor(model, decision);
  const bool may_wait =
      at_most > Duration(0) && (!memory.unwritten || shared_.deps.timer.Now() - memory.unwritten->since < at_most);
  Reconciliation reconciliation;
  std::vector<plan::SendModel> after;
  bool is_unwritten = false;
  for (plan::Action& action : plan::MakePlan(model, decision, holds)) {
    if (auto* write = std::get_if<plan::WriteStatus>(&action)) {
      is_unwritten = may_wait;
      if (may_wait) continue;
      reconciliation.write = {key, model.metadata.uid, model.metadata.resource_version, api::ToJson(write->status)};
    } else if (reconciliation.write) {
      after.push_back(std::move(std::get<plan::SendModel>(action)));
    } else {
      Send(key, std::get<plan::SendModel>(action), memory.fleet);
    }
  }
  if (is_unwritten) return DeferWrite(model, decision, observed, at_most);
  reconciliation.finish = [this, model, decision, observed, after = std::move(after)](const Status& written) {
    for (size_t i = 0; written && i < after.size(); ++i) {
      Send(KeyOf(model), after[i], api::FleetOf(model.metadata, model.spec));
    }
    return FinishModel(model, decision, observed, written);
  };
  return reconciliation;
}

// Records a decision that the nodes have already. Its status is written when the next phase begins, or after `at_most`.
Reconciliation ModelReconciler::DeferWrite(const api::Model& model, const rollout::Decision& decision,
                                           const rollout::Observed& observed, Duration at_most) {
  const api::Key key = KeyOf(model);
  ModelMemory& memory = shared_.models.at(key);
  const MonotonicPoint since = memory.unwritten ? memory.unwritten->since : shared_.deps.timer.Now();
  memory.unwritten =
      std::make_unique<Unwritten>(Unwritten{model.metadata.uid, model.metadata.generation,
                                            WithoutCommands(model.status), decision.status, decision.events, since});
  TakeEvidence(model, decision, observed);
  Remember(key, WithStatus(model, decision.status), decision.placement);
  const Duration left = since + at_most - shared_.deps.timer.Now();
  return Done(decision.check_again_in ? std::min(*decision.check_again_in, left) : left);
}

Outcome ModelReconciler::FinishModel(const api::Model& model, const rollout::Decision& decision,
                                     const rollout::Observed& observed, const Status& written) {
  const api::Key key = KeyOf(model);
  if (!written) {
    // New nodes must get a snapshot even if the write failed, for example because the disk is full. The snapshot
    // contains the stored decision, or the new one if that was sent before the write because it is safer.
    const bool heard = decision.safety || shared_.models.at(key).refused;
    Remember(key, heard ? WithStatus(model, decision.status) : model,
             heard ? decision.placement : rollout::PlacementNow(model, observed, shared_.deps.clock.Now()));
    return tl::make_unexpected(written.error());
  }
  shared_.models.at(key).unwritten.reset();
  NoteNewFields(model, decision.status);
  if (decision.status.traffic != model.status.traffic) {
    ModelMemory& memory = shared_.models.at(key);
    memory.traffic.Written(CountRequests(memory));
  }
  shared_.RecordEvents(EventsOf(model, decision.status, decision.events));
  if (HasEnded(model.status.rollout, decision.status.rollout)) shared_.deps.rollout_ended(key, decision.status.rollout);
  TakeEvidence(model, decision, observed);
  Remember(key, WithStatus(model, decision.status), decision.placement);
  return decision.check_again_in;
}

void ModelReconciler::TakeEvidence(const api::Model& model, const rollout::Decision& decision,
                                   const rollout::Observed& observed) {
  const std::string fleet = api::FleetOf(model.metadata, model.spec);
  const api::RolloutStatus& before = model.status.rollout;
  const api::RolloutStatus& next = decision.status.rollout;
  if (decision.evidence_used) {
    shared_.evidence.Use(fleet, model.spec.served_name, before.candidate, before.stable, observed.windows);
  }
  const bool judged = api::IsUnderWay(next.phase) && !next.analysis.is_null();
  if (!judged || next.id != before.id || before.analysis.is_null()) {
    shared_.evidence.EmptyWindows(fleet, model.spec.served_name);
  }
}

void ModelReconciler::Remember(const api::Key& key, const api::Model& model, const rollout::Placement& placement) {
  ModelMemory& memory = shared_.models.at(key);
  FleetMemory& fleet = shared_.FleetOf(memory.fleet);
  NoteModel(model, memory);
  memory.blueprint = plan::MakeBlueprint(model, placement);
  std::set<std::string> recipients;
  if (!memory.refused) recipients = plan::RecipientNodes(memory.served_name, placement, *fleet.peers);
  shared_.SetRecipients(key, memory, std::move(recipients));
  const bool counts_nodes = IsUnderWay(model.status.rollout.phase) || model.status.stable_version == 0 ||
                            !model.spec.replicas ||
                            *model.spec.replicas > static_cast<int>(fleet.book.staying()->names.size());
  if (counts_nodes && !memory.refused) fleet.placed_by_nodes.insert(key);
  if (!counts_nodes || memory.refused) fleet.placed_by_nodes.erase(key);
  for (auto& [_, models] : fleet.undecided) {
    if (models.erase(key) > 0 && models.empty()) shared_.deps.queue(api::FleetKey(memory.fleet), Duration(0));
  }
}

// Records whether the Model can be read: this affects which snapshots may be sent, and the status of fleets.
void ModelReconciler::NoteReadable(const api::Key& key, const Result<api::Model>& model) {
  // A store that is briefly unavailable does not make the Model unreadable.
  if (!model && model.error().code == Code::kUnavailable) return;
  const bool changed = model ? shared_.unreadable.erase(key) > 0
                             : shared_.unreadable.insert_or_assign(key, model.error().message).second;
  if (!changed) return;
  for (const std::string& fleet : shared_.deps.fleet.Fleets()) shared_.deps.queue(api::FleetKey(fleet), Duration(0));
}

Result<api::Model> ModelReconciler::ReadModel(const store::Object& object) const {
  auto model = store::ToModel(object);
  if (!model) return Prefixed(model.error(), ToString(store::KeyOf(object)));
  return model;
}

void ModelReconciler::RemoveModel(const api::Key& key) {
  const auto known = shared_.models.find(key);
  if (known == shared_.models.end()) return;
  ModelMemory& memory = known->second;
  FleetMemory& fleet = shared_.FleetOf(memory.fleet);
  if (shared_.deps.failed_files != nullptr) shared_.deps.failed_files->Forget(key);
  if (!memory.refused) {
    for (const plan::Action& action : plan::MakeRemoval(memory.served_name, HoldsOf(memory, {}))) {
      Send(key, std::get<plan::SendModel>(action), memory.fleet);
    }
  }
  shared_.SetRecipients(key, memory, {});
  fleet.placed_by_nodes.erase(key);
  fleet.awaiting_routing.erase(key);
  for (auto& [_, models] : fleet.undecided) {
    if (models.erase(key) > 0 && models.empty()) shared_.deps.queue(api::FleetKey(memory.fleet), Duration(0));
  }
  const auto same_name = fleet.models.find(memory.served_name);
  same_name->second.erase(key);
  if (same_name->second.empty()) fleet.models.erase(same_name);
  shared_.models.erase(known);
  // The served name of the removed Model, or its place in a quota, may now be free for a Model that was refused.
  for (const auto& [_, models] : fleet.models) {
    for (const api::Key& other : models) {
      if (shared_.models.at(other).refused) shared_.deps.queue(other, Duration(0));
    }
  }
}

// Returns why the fleet refuses the Model; nullopt if it does not. A fleet that does not exist refuses no Model. If the
// fleet cannot be read, a Model of the fleet's own namespace is not refused, and for a Model of another namespace the
// error is returned.
Result<std::optional<Refusal>> ModelReconciler::RefusalByFleet(const api::Model& model, const std::string& fleet) {
  const Result<api::ServingFleet>& object = shared_.ObjectOf(fleet);
  if (!object && object.error().code == Code::kNotFound) return std::nullopt;
  if (!object && model.metadata.namespace_ == api::FleetKey(fleet).namespace_) return std::nullopt;
  if (!object) return tl::make_unexpected(object.error());
  const api::Quotas& quotas = object->spec.quotas;
  const Applicant applicant{KeyOf(model), Serves(model.status)};
  std::vector<Applicant> others;
  if (quotas.models_max || quotas.models_per_namespace_max) {
    for (const auto& [_, models] : shared_.FleetOf(fleet).models) {
      for (const api::Key& key : models) {
        const ModelMemory& its = shared_.models.at(key);
        if (key != applicant.key && !its.refused) others.push_back({key, its.serves});
      }
    }
    std::ranges::sort(others, {}, &Applicant::key);
  }
  return RefusalOf(*object, applicant, others);
}

// Returns an error message if another Model has the served name and precedence; otherwise "". A Model with a stable
// version has precedence over one without; otherwise the order of the keys decides.
std::string ModelReconciler::ConflictOf(const api::Key& key, const ModelMemory& memory) const {
  for (const api::Key& other : shared_.fleets.at(memory.fleet).models.at(memory.served_name)) {
    if (other == key) continue;
    const ModelMemory& its = shared_.models.at(other);
    const bool other_wins = its.has_stable != memory.has_stable ? its.has_stable : other < key;
    if (other_wins) return fmt::format("{} has the served name \"{}\" already", ToString(other), its.served_name);
  }
  return "";
}

// Returns that the fleet does not exist, with the fleet of its namespace that was probably meant; "" if it does, or may
// exist.
std::string ModelReconciler::WhyNoFleet(const std::string& fleet) const {
  const Result<api::ServingFleet>& object = shared_.ObjectOf(fleet);
  if (object || object.error().code != Code::kNotFound) return "";
  const auto known = shared_.deps.store.Keys(api::kServingFleetKind);
  return api::NoFleetSentence(api::FleetKey(fleet), known ? *known : std::vector<api::Key>{});
}

// Collects what the nodes report about the model.
rollout::Observed ModelReconciler::Observe(const api::Model& model, const ModelMemory& memory) const {
  const FleetMemory& fleet = shared_.fleets.at(memory.fleet);
  rollout::Observed observed;
  observed.fleet = fleet.book.staying();
  observed.no_fleet = WhyNoFleet(memory.fleet);
  observed.fleet_seen = shared_.ObservedFleetOf(memory.fleet);
  observed.fleet_trouble = fleet.trouble;
  observed.unreachable = shared_.WhyUnreachable(memory.fleet);
  if (const FleetBook::ReportsByNode* reports = fleet.book.ReportsFor(memory.served_name); reports != nullptr) {
    for (const auto& [name, said] : *reports) ObserveNode(memory, name, said, observed);
  }
  if (shared_.deps.failed_files != nullptr) observed.other_files = shared_.deps.failed_files->Watch(model);
  observed.untold = UntoldNodes(model, memory, observed);
  const api::RolloutStatus& rollout = model.status.rollout;
  observed.windows = shared_.evidence.Windows(memory.fleet, memory.served_name, rollout.candidate, rollout.stable);
  observed.stable_past =
      shared_.evidence.Past(memory.fleet, memory.served_name, model.status.stable_version, rollout.id);
  return observed;
}

// Adds what a node of the FleetBook reports. Whether the report is fresh, and from after the last removal of a model of
// this name, depends on what the node was sent. This is read from the registry, because the view in the FleetBook may
// be from before that message; then the newest report comes from there, too.
void ModelReconciler::ObserveNode(const ModelMemory& memory, const std::string& name,
                                  const FleetBook::ModelReports& in_book, rollout::Observed& observed) const {
  const KnownNode& node = *shared_.fleets.at(memory.fleet).book.Find(name);
  const nodes::ViewPtr live = shared_.deps.nodes.Node(memory.fleet, name);
  const bool is_newer = live && live->reported && live->report != node.view->report;
  nodes::NodeView view = is_newer ? *live : *node.view;
  if (live) view.sent = live->sent;
  if (view.sent && nodes::IsBeforeRemoval(*view.report, memory.served_name, *view.sent)) {
    observed.awaits_reports = true;
    return;
  }
  const auto said = is_newer ? FleetBook::ReportsIn(*view.report, memory.served_name) : in_book;
  rollout::NodeSeen seen{name, IsDraining(node), SeenOf(said.versions, IsFresh(view))};
  seen.departing = node.departing;
  seen.run_slots = view.report->load().concurrent_runs_max();
  seen.knows_rules = view.hello.match_rules();
  if (said.source != nullptr) seen.source = SeenOf(*said.source);
  if (said.rules != nullptr) seen.rules = SeenOf(*said.rules);
  observed.nodes.push_back(std::move(seen));
  observed.latest_version = std::max(observed.latest_version, LatestVersion(said.versions));
}

std::vector<api::Sentence> ModelReconciler::UntoldNodes(const api::Model& model, const ModelMemory& memory,
                                                        const rollout::Observed& observed) const {
  if (!rollout::MustBeRouted(model.status)) return {};
  const FleetMemory& fleet = shared_.fleets.at(memory.fleet);
  const rollout::Placement placement = rollout::PlacementNow(model, observed, shared_.deps.clock.Now());
  std::vector<api::Sentence> untold;
  for (const std::string& name : plan::RecipientNodes(memory.served_name, placement, *fleet.peers)) {
    const KnownNode* known = fleet.book.Find(name);
    if (known == nullptr || IsDraining(*known)) continue;
    const nodes::ViewPtr view = shared_.deps.nodes.Node(memory.fleet, name);
    const bool is_told = view && view->connected && view->reported && view->sent &&
                         nodes::IsAfterChange(*view->report, memory.served_name, *view->sent);
    if (is_told) continue;
    const bool has_refused = view && !view->ack_error.empty();
    untold.push_back(
        {"node " + name, has_refused ? " refused its state: " + view->ack_error : " has not confirmed it"});
  }
  return untold;
}

void ModelReconciler::Send(const api::Key& key, const plan::SendModel& send, const std::string& fleet) {
  control::FromController message;
  message.mutable_change()->set_served_name(send.served_name);
  if (send.state) *message.mutable_change()->mutable_model() = *send.state;
  const Status sent = shared_.deps.nodes.Send(fleet, send.node, std::move(message));
  // Sending fails if the node has just left. This is not an error: the node gets a snapshot when it comes back.
  if (!sent) spdlog::debug("{}: {}", ToString(key), sent.error().message);
}

// Returns, for each current recipient of the Model and each of the new `recipients`, which state of the Model the node
// holds. Nodes without a snapshot on their stream are left out, because the fleet's reconciliation sends them one.
// Draining nodes are left out because they keep their state for their remaining requests.
std::vector<plan::NodeHolds> ModelReconciler::HoldsOf(const ModelMemory& memory,
                                                      const std::set<std::string>& recipients) const {
  std::set<std::string> all = recipients;
  all.insert(memory.recipients.begin(), memory.recipients.end());
  std::vector<plan::NodeHolds> holds;
  for (const std::string& name : all) {
    const KnownNode* known = shared_.fleets.at(memory.fleet).book.Find(name);
    const nodes::ViewPtr view = shared_.deps.nodes.Node(memory.fleet, name);
    if (known == nullptr || IsDraining(*known) || !view || !view->connected || !view->sent) continue;
    holds.push_back({name, view->sent->DigestOfModel(memory.served_name), recipients.contains(name)});
  }
  return holds;
}

void ModelReconciler::ReportProblems(const api::Model& model, const std::string& conflict,
                                     const std::optional<Refusal>& refusal, api::ModelStatus& status) {
  const auto set = [&](const std::string& type, bool good, const std::string& reason, const std::string& message) {
    SetCondition(status.conditions, {type, good ? "True" : "False", reason, message, status.observed_generation,
                                     shared_.deps.clock.Now()});
  };
  const bool refused = refusal || !conflict.empty();
  if (refused) {  // Refused Models get no decision, so these conditions are the whole report for this generation.
    status.observed_generation = model.metadata.generation;
    const std::string reason = refusal ? refusal->reason : "NameConflict";
    rollout::RefuseCommands(status, refusal ? refusal->message : conflict, shared_.deps.clock.Now());
    set("Ready", false, reason, refusal ? refusal->message : conflict);
    set("Reconciling", false, reason, "");
    set("Stalled", true, reason, refusal ? refusal->message : conflict);
  }
  const auto problem = shared_.deps.problem_of({api::kModelKind, model.metadata.namespace_, model.metadata.name});
  set("ManifestAccepted", !problem, problem ? problem->reason : "Applied", problem ? problem->message : "");
  set("NameAccepted", conflict.empty(), conflict.empty() ? "Unique" : "Conflict", conflict);
  const std::string no_fleet = WhyNoFleet(api::FleetOf(model.metadata, model.spec));
  set("FleetFound", no_fleet.empty(), no_fleet.empty() ? "Found" : "NotFound", no_fleet);
}

}  // namespace longshore::reconcile
