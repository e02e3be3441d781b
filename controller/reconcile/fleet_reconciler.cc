#include "controller/reconcile/fleet_reconciler.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/os/log.h"
#include "controller/api/format.h"
#include "controller/decide/autoscale/autoscale.h"
#include "controller/store/document.h"

namespace longshore::reconcile {
namespace {

constexpr Duration kMetricsInterval = std::chrono::seconds(1);
constexpr Duration kListenAgain = std::chrono::milliseconds(500);
constexpr Duration kAwaitAgain = std::chrono::milliseconds(100);
// How long new connections of a deleted fleet wait: if it is created again within this time, none is lost.
constexpr Duration kListensAfterRemoval = std::chrono::seconds(1);

// How long a node without a stream counts as starting, because a process that has just ended looks the same, and after
// which time it is restarted.
constexpr Duration kSilentAfter = std::chrono::seconds(1);
constexpr Duration kRestartAfter = std::chrono::seconds(15);
constexpr Duration kSilentAgain = std::chrono::seconds(1);
// After which time a process is asked that has not connected to this controller at all. It may start slowly if many
// start at once, so the time is longer.
constexpr Duration kConnectsWithin = std::chrono::seconds(60);

// Minimum time between two messages to all nodes of a fleet, and between two writes of its status, so that several
// joining and leaving nodes cause one message. 0 for a small fleet.
Duration PauseOf(size_t nodes) {
  constexpr size_t kFew = 20;
  constexpr Duration kForEach = std::chrono::milliseconds(1);
  constexpr Duration kPauseMax = std::chrono::seconds(1);
  return nodes <= kFew ? Duration(0) : std::min(kPauseMax, kForEach * static_cast<int64_t>(nodes));
}

Outcome CheckAgainIn(const api::ServingFleet& fleet, const Result<fleet::Addresses>& addresses,
                     const fleet::Progress& progress) {
  // Only another object can have another name.
  if (!addresses && addresses.error().code == Code::kAlreadyExists) return std::nullopt;
  // The port is in use, or the sockets are being handed over. Both can end at any moment.
  const bool may_listen_soon = !addresses && (addresses.error().code == Code::kFailedPrecondition ||
                                              addresses.error().code == Code::kUnavailable);
  if (may_listen_soon) return kListenAgain;
  if (!addresses) return tl::make_unexpected(addresses.error());
  if (!fleet.spec.autoscaling) return progress.check_again_in;
  return std::min(kMetricsInterval, progress.check_again_in.value_or(kMetricsInterval));
}

Json WithoutReplicas(const api::ServingFleetSpec& spec) {
  Json rest = api::ToJson(spec);
  rest.erase("replicas");
  return rest;
}

// Removes the nodes that have begun to stop, or have stopped.
void ForgetStopped(const std::vector<fleet::NodeInfo>& node_infos, std::set<std::string>& released) {
  std::erase_if(released, [&](const std::string& name) {
    const auto info = std::ranges::find(node_infos, name, &fleet::NodeInfo::node);
    return info == node_infos.end() || fleet::IsLeaving(*info);
  });
}

}  // namespace

// Reconciling a large fleet takes milliseconds and its nodes report constantly. A pause between the reconciliations of
// a fleet limits their share of the time to about a tenth.
Result<Reconciliation> FleetReconciler::Begin(const api::Key& key) {
  constexpr int kRestsMin = 9;  // Pause, as a multiple of the duration of the reconciliation.
  constexpr Duration kRestMax = std::chrono::milliseconds(200);
  FleetMemory& memory = shared_.FleetOf(key.namespace_ + "/" + key.name);
  const MonotonicPoint now = shared_.deps.timer.Now();
  const MonotonicPoint next = memory.reconciled_at + std::min(kRestMax, kRestsMin * memory.reconcile_took);
  if (now < next) return Reconciliation{std::nullopt, [rest = next - now](const Status&) { return rest; }};
  auto reconciliation = ReconcileFleet(key, memory);
  memory.reconciled_at = shared_.deps.timer.Now();
  memory.reconcile_took = memory.reconciled_at - now;
  return reconciliation;
}

Result<Reconciliation> FleetReconciler::ReconcileFleet(const api::Key& key, FleetMemory& memory) {
  const std::string fleet = key.namespace_ + "/" + key.name;
  memory.object = shared_.ReadFleet(fleet);
  if (!*memory.object && memory.object->error().code == Code::kNotFound) {
    return Reconciliation{std::nullopt, [removed = RemoveFleet(fleet)](const Status&) { return removed; }};
  }
  if (!*memory.object) return tl::make_unexpected(memory.object->error());
  const api::ServingFleet& wanted = **memory.object;
  memory.removal.reset();

  const Result<fleet::Addresses> addresses = shared_.deps.fleet.Ensure(wanted);
  std::vector<fleet::NodeInfo> node_infos = shared_.deps.fleet.Nodes(fleet);
  shared_.ReadNodes(fleet, memory, node_infos);
  api::ServingFleet next = wanted;
  next.status.autoscale = Autoscale(wanted, memory);
  const int replicas = wanted.spec.autoscaling ? next.status.autoscale.desired : wanted.spec.replicas_min;
  const bool waited = !memory.awaited.empty();
  const bool waits = IsWaitingForNodes(memory, node_infos);
  const Scaling scaling = addresses ? Scale(fleet, memory, node_infos, replicas, waits) : Scaling{};
  if (waited && !waits) memory.observed.reset();  // Makes QueueChangedModels schedule all Models.
  if (!waits) SendToNodes(wanted, memory);
  MoveConnections(fleet, memory, node_infos);
  WriteTargets();
  const fleet::Progress progress = shared_.deps.fleet.ProgressOf(fleet);
  // The status comes last, so that a failing status write does not block the steps above.
  FleetSeen seen = FleetSeenOf(wanted, node_infos, addresses, scaling);
  seen.returning = ReturningNodes(memory);
  const std::optional<Duration> watch_again = WatchUnconnected(fleet, memory, seen);
  seen.wanted = replicas;
  seen.progress = progress;
  const api::ObservedFleet observed{wanted.metadata.uid, wanted.metadata.generation, replicas};
  if (!waits) QueueChangedModels(memory, {observed, &wanted.spec, progress.unreachable, TroubleOf(seen)});
  next.status = DescribeFleet(next, seen, shared_.deps.clock.Now());
  const MonotonicPoint now = shared_.deps.timer.Now();
  const MonotonicPoint may_write_at = memory.status_at + PauseOf(node_infos.size());
  Reconciliation reconciliation;
  if (next.status != wanted.status && now < may_write_at) {
    shared_.deps.queue(key, may_write_at - now);
    next.status = wanted.status;
  } else if (next.status != wanted.status) {
    memory.status_at = now;
    reconciliation.write = {key, wanted.metadata.uid, wanted.metadata.resource_version, api::ToJson(next.status)};
  }
  if (waits || !seen.returning.empty()) shared_.deps.queue(key, kAwaitAgain);
  reconciliation.finish = [this, wanted, status = next.status, addresses, scaled = scaling.done, progress, watch_again,
                           &memory](const Status& written) -> Outcome {
    RETURN_IF_ERROR(written);
    // The status may be the stored one, because the next write must wait.
    if (memory.unwritten_autoscale && memory.unwritten_autoscale->second == status.autoscale)
      memory.unwritten_autoscale.reset();
    shared_.RecordEvents(EventsOf(wanted, status));
    RETURN_IF_ERROR(scaled);
    Outcome again = CheckAgainIn(wanted, addresses, progress);
    if (again && watch_again) *again = std::min(again->value_or(*watch_again), *watch_again);
    return again;
  };
  return reconciliation;
}

// Starts missing nodes, and stops nodes that are too many once other nodes have their versions. While nodes of an
// earlier controller have not reported, none is stopped, because a version may be on only one of them.
//
// A fleet of pods has more nodes than it wants while Kubernetes replaces the pods, and until the pods that were
// released begin to stop. So the wanted nodes count, not the existing ones.
FleetReconciler::Scaling FleetReconciler::Scale(const std::string& fleet, FleetMemory& memory,
                                                std::vector<fleet::NodeInfo>& node_infos, int replicas, bool waits) {
  const int staying = CountStaying(node_infos);
  const int wanted = shared_.deps.fleet.Wanted(fleet);
  const int created = std::min(wanted, staying);
  ForgetStopped(node_infos, memory.released);
  if (staying <= wanted) memory.released.clear();
  const int released = static_cast<int>(memory.released.size());
  const int too_many = std::min(created + released, staying) - replicas;
  const Departures departures = waits ? Departures() : DepartingNodes(memory, node_infos, too_many);
  memory.changes.nodes.merge(memory.book.SetDeparting(departures.chosen));
  std::vector<std::string> leave_first = {memory.released.begin(), memory.released.end()};
  std::ranges::copy_if(departures.now, std::back_inserter(leave_first),
                       [&](const std::string& node) { return !memory.released.contains(node); });
  const int nodes = std::max(replicas, created - (static_cast<int>(leave_first.size()) - released));
  const Status done = shared_.deps.fleet.Scale(fleet, nodes, leave_first);
  if (done) memory.released.insert(leave_first.begin(), leave_first.end());
  if (nodes != staying) node_infos = shared_.deps.fleet.Nodes(fleet);
  return {done, departures.waiting};
}

Departures FleetReconciler::DepartingNodes(const FleetMemory& memory, const std::vector<fleet::NodeInfo>& node_infos,
                                           int count) const {
  if (count <= 0) return {};
  Placements placements;
  for (const auto& [served_name, models] : memory.models) {
    for (const api::Key& key : models) {
      const ModelMemory& model = shared_.models.at(key);
      if (model.blueprint && !model.refused) placements[served_name] = &model.blueprint->placement;
    }
  }
  return DecideDepartures(memory.book.nodes(), node_infos, count, placements);
}

FleetSeen FleetReconciler::FleetSeenOf(const api::ServingFleet& object, const std::vector<fleet::NodeInfo>& node_infos,
                                       const Result<fleet::Addresses>& addresses, const Scaling& scaling) const {
  const api::Key key{api::kServingFleetKind, object.metadata.namespace_, object.metadata.name};
  const FleetBook& book = shared_.fleets.at(key.namespace_ + "/" + key.name).book;
  FleetSeen seen{.epoch = shared_.deps.nodes.epoch(),
                 .processes = node_infos,
                 .nodes = &book.nodes(),
                 .addresses = addresses,
                 .scaled = scaling.done,
                 .manifest = shared_.deps.problem_of(key)};
  seen.departing = scaling.waiting;
  for (const auto& [model, why] : shared_.unreadable) {
    if (Allows(object, model.namespace_)) seen.unreadable.push_back({ToString(model) + ": ", why});
  }
  return seen;
}

// Schedules the Models for which something changed: the fleet object, its wanted number of nodes, whether its address
// answers, why it has no node, the reports of nodes, or the set of nodes.
void FleetReconciler::QueueChangedModels(FleetMemory& memory, const FleetNews& news) const {
  const Changes changes = std::exchange(memory.changes, {});
  const auto before = std::exchange(memory.observed, news.observed);
  const bool is_same_fleet = before && before->uid == news.observed.uid;
  bool has_other_spec = !is_same_fleet;
  if (!is_same_fleet || before->generation != news.observed.generation) {
    Json rest = news.spec == nullptr ? Json() : WithoutReplicas(*news.spec);
    has_other_spec = std::exchange(memory.rest_of_spec, rest) != rest || has_other_spec;
  }
  const bool has_other_count = is_same_fleet && before->nodes != news.observed.nodes && !has_other_spec;
  const bool is_other_object = before != news.observed && !has_other_count;
  const bool has_other_trouble = std::exchange(memory.trouble, news.trouble) != news.trouble;
  const bool has_no_nodes = memory.book.staying()->names.empty();
  if (std::exchange(memory.unreachable, news.unreachable) != news.unreachable || is_other_object ||
      (has_other_trouble && has_no_nodes)) {
    for (const auto& [_, models] : memory.models) shared_.QueueAll(models);
    return;
  }
  if (has_other_count) QueueInTurn(memory);
  for (const std::string& name : changes.models) {
    const auto models = memory.models.find(name);
    if (models != memory.models.end()) shared_.QueueAll(models->second);
  }
  if (!changes.nodes.empty()) shared_.QueueAll(memory.placed_by_nodes);
  for (const std::string& node : changes.nodes) {
    const auto models = memory.of_node.find(node);
    if (models != memory.of_node.end()) shared_.QueueAll(models->second);
    const auto undecided = memory.undecided.find(node);
    if (undecided != memory.undecided.end()) shared_.QueueAll(undecided->second);
  }
}

// Schedules all Models of the fleet one after the other. Each writes its status, but does nothing else, so other
// reconciliations and writes have to get through between them.
void FleetReconciler::QueueInTurn(const FleetMemory& memory) const {
  Duration after{0};
  for (const auto& [_, models] : memory.models) {
    for (const api::Key& key : models) {
      shared_.deps.queue(key, after);
      after += shared_.options.model_pause;
    }
  }
}

// The nodes of a deleted fleet finish their requests before they stop. New connections are refused, also while nodes
// finish their work.
Outcome FleetReconciler::RemoveFleet(const std::string& fleet) {
  sources_.erase(fleet);
  FleetMemory& memory = shared_.FleetOf(fleet);
  const MonotonicPoint now = shared_.deps.timer.Now();
  if (!memory.removal) memory.removal = Removal{now};
  shared_.ReadNodes(fleet, memory, shared_.deps.fleet.Nodes(fleet));
  memory.awaited.clear();
  QueueChangedModels(memory, {.unreachable = shared_.deps.fleet.ProgressOf(fleet).unreachable});
  // As long as nodes remain, `fleet` reports each exit of a node, which causes another call of RemoveFleet.
  const Status removed = shared_.deps.fleet.Remove(fleet);
  EndConnections(fleet, *memory.removal);
  WriteTargets();
  const Duration listens = memory.removal->since + kListensAfterRemoval - now;
  if (listens <= Duration(0)) RETURN_IF_ERROR(shared_.deps.fleet.StopListening(fleet));
  RETURN_IF_ERROR(removed);
  return listens > Duration(0) ? std::optional(listens) : std::nullopt;
}

// Makes the nodes ask their clients to connect elsewhere. A node that only leaves its fleet lets the connections reach
// their age.
void FleetReconciler::EndConnections(const std::string& fleet, Removal& removal) const {
  for (const nodes::ViewPtr& view : shared_.deps.nodes.Nodes(fleet)) {
    if (!view->connected || removal.told.contains(view->hello.node())) continue;
    control::FromController message;
    message.mutable_drain()->set_fleet_is_gone(true);
    if (shared_.deps.nodes.Send(fleet, view->hello.node(), std::move(message))) removal.told.insert(view->hello.node());
  }
}

// Returns the latency objectives of the Models that have a stable version. Other Models get no requests, so their
// latency would stay unknown.
std::vector<signals::LatencyObjective> FleetReconciler::ObjectivesOf(const FleetMemory& memory) const {
  std::vector<signals::LatencyObjective> objectives;
  for (const auto& [served_name, models] : memory.models) {
    for (const api::Key& key : models) {
      const ModelMemory& model = shared_.models.at(key);
      if (model.refused || !model.has_stable || !model.latency_target) continue;
      objectives.push_back({served_name, model.latency_quantile, *model.latency_target});
    }
  }
  return objectives;
}

// Returns the next status of autoscaling, and keeps it in the memory until it is stored. It uses no signals until
// the controller knows all Models and nodes that existed before it started, because they would be incomplete.
api::AutoscaleStatus FleetReconciler::Autoscale(const api::ServingFleet& object, FleetMemory& memory) {
  const std::string fleet = object.metadata.namespace_ + "/" + object.metadata.name;
  if (!object.spec.autoscaling) {
    sources_.erase(fleet);
    memory.unwritten_autoscale.reset();
    return {};
  }
  api::AutoscaleStatus before = object.status.autoscale;
  if (memory.unwritten_autoscale && memory.unwritten_autoscale->first == object.metadata.uid)
    before = memory.unwritten_autoscale->second;
  const signals::Query query{fleet, ObjectivesOf(memory), object.spec.autoscaling->prometheus_url,
                             object.spec.autoscaling->metrics_age_max};
  autoscale::Input input;
  input.replicas = shared_.deps.fleet.Wanted(fleet);
  auto& [asked, source] = sources_[fleet];
  if (!source || asked != query) {
    asked = query;
    source = shared_.deps.make_metrics(query);
  }
  const TimePoint now = shared_.deps.clock.Now();
  std::vector<nodes::ViewPtr> ready;
  for (const auto& [name, node] : memory.book.nodes()) {
    if (!node.ready || node.leaving) continue;
    if (const nodes::ViewPtr live = shared_.deps.nodes.Node(fleet, name)) ready.push_back(live);
  }
  const bool is_complete = shared_.models_are_known && memory.awaited.empty();
  if (source && is_complete) input.metrics = source->Latest(ready, now);
  input.ready = std::min(static_cast<int>(ready.size()), input.replicas);
  api::AutoscaleStatus status = autoscale::Decide(object.spec, before, input, now);
  memory.unwritten_autoscale.emplace(object.metadata.uid, status);
  return status;
}

// Whether to wait for nodes that were started before this controller and have not reported yet. Without waiting, such a
// node would seem to hold no versions, and all Models would be moved away from it.
bool FleetReconciler::IsWaitingForNodes(FleetMemory& memory, const std::vector<fleet::NodeInfo>& node_infos) const {
  if (memory.awaited.empty()) return false;
  std::set<std::string> running;
  for (const fleet::NodeInfo& node_info : node_infos) {
    if (node_info.state == fleet::NodeState::kRunning) running.insert(node_info.node);
  }
  std::erase_if(memory.awaited,
                [&](const std::string& node) { return memory.book.Find(node) != nullptr || !running.contains(node); });
  if (shared_.deps.timer.Now() - shared_.began >= shared_.options.adoption_grace) memory.awaited.clear();
  return !memory.awaited.empty();
}

// The nodes that this controller cannot judge yet, because it has just started: they have not connected again, or have
// not got their state.
std::set<std::string> FleetReconciler::ReturningNodes(const FleetMemory& memory) const {
  if (shared_.deps.timer.Now() - shared_.began >= shared_.options.adoption_grace) return {};
  std::set<std::string> nodes = memory.awaited;
  for (const auto& [name, node] : memory.book.nodes()) {
    if (!node.view->sent) nodes.insert(name);
  }
  return nodes;
}

// Finds the nodes on this host whose process runs, but has no stream, and restarts those that do not answer for too
// long. Returns when to look again. (The pid of a pod is unknown here: Kubernetes asks it.)
std::optional<Duration> FleetReconciler::WatchUnconnected(const std::string& fleet, FleetMemory& memory,
                                                          FleetSeen& seen) {
  const MonotonicPoint now = shared_.deps.timer.Now();
  const auto before = std::exchange(memory.unconnected, {});
  std::optional<Duration> again;
  for (const fleet::NodeInfo& info : seen.processes) {
    const nodes::ViewPtr view = shared_.deps.nodes.Node(fleet, info.node);
    if (info.pid == 0 || info.state != fleet::NodeState::kRunning || (view && view->connected)) continue;
    const bool was_connected = view && view->hello.pid() == info.pid;
    const auto former = before.find(info.node);
    const bool is_new = former == before.end() || former->second.pid != info.pid;
    Unconnected& process = memory.unconnected[info.node];
    process = is_new ? Unconnected{info.pid, now} : former->second;
    if (was_connected) process.since = view->lost_at;
    const Duration elapsed = now - process.since;
    const Duration left = (was_connected ? kRestartAfter : kConnectsWithin) - elapsed;
    if (left <= Duration(0)) AskToAnswer(fleet, info.node, process);
    if (process.answers) seen.unconnected.insert(info.node);
    if (was_connected && !process.answers && elapsed >= kSilentAfter) seen.silent.insert(info.node);
    const Duration next = was_connected ? kSilentAgain : std::max(kSilentAgain, left);
    again = std::min(again.value_or(next), next);
  }
  return again;
}

// Logs only the first answer: a node without a stream is asked again and again.
void FleetReconciler::AskToAnswer(const std::string& fleet, const std::string& node, Unconnected& process) {
  const Status restarted = shared_.deps.fleet.Restart(fleet, node);
  if (restarted || process.answers) return;
  process.answers = true;
  spdlog::warn("node {} is not restarted: {}", node, restarted.error().message);
}

// Makes the part of the desired state that all nodes share, such as the list of peers. Between two changes it waits for
// PauseOf, so that nodes that join at the same time are announced in one message.
void FleetReconciler::MakePart(const api::ServingFleet& object, FleetMemory& memory) {
  const MonotonicPoint now = shared_.deps.timer.Now();
  std::vector<control::Peer> peers;
  const std::set<std::string> last_holders = LastHolders(memory.book.nodes());
  for (const auto& [name, node] : memory.book.nodes()) {
    if (!node.view->report->draining() || last_holders.contains(name)) peers.push_back(PeerOf(*node.view));
  }
  const Duration pause = PauseOf(peers.size());
  control::FleetState state = plan::BuildFleetState(object, std::move(peers));
  if (memory.part && google::protobuf::util::MessageDifferencer::Equals(memory.part->state, state)) return;
  if (memory.part && now < memory.part_at + pause) {
    shared_.deps.queue({api::kServingFleetKind, object.metadata.namespace_, object.metadata.name},
                       memory.part_at + pause - now);
    return;
  }
  std::vector<std::string> names;
  for (const control::Peer& peer : state.peers()) names.push_back(peer.node());
  memory.part = nodes::MakeFleetPart(std::move(state));
  memory.part_at = now;
  const auto before = std::exchange(memory.peers, rollout::MakeNodeNames(std::move(names)));
  if (before->names == memory.peers->names) return;
  for (const auto& [_, models] : memory.models) {
    for (const api::Key& key : models) MoveHomes(key, shared_.models.at(key), *memory.peers);
  }
}

// After a change of the set of peers, schedules the Model if other nodes must receive its state now. A Model that
// cannot be read is not reconciled and keeps its last decision, so its recipients are updated here.
void FleetReconciler::MoveHomes(const api::Key& key, ModelMemory& model, const rollout::NodeNames& peers) {
  if (!model.blueprint || model.refused) return;
  std::set<std::string> nodes = plan::RecipientNodes(model.served_name, model.blueprint->placement, peers);
  if (nodes == model.recipients) return;
  if (shared_.unreadable.contains(key)) {
    shared_.SetRecipients(key, model, std::move(nodes));
  } else {
    shared_.deps.queue(key, Duration(0));
  }
}

void FleetReconciler::SendToNodes(const api::ServingFleet& object, FleetMemory& memory) {
  const std::string fleet = object.metadata.namespace_ + "/" + object.metadata.name;
  MakePart(object, memory);
  // Key: the fleet part that a node has. Value: the message that changes it into the part that the node should have.
  std::map<const nodes::FleetPart*, control::FromController> changes;
  for (const auto& [name, node] : memory.book.nodes()) {
    const nodes::ViewPtr view = shared_.deps.nodes.Node(fleet, name);
    if (!view || !view->connected || !view->reported || (view->sent && view->sent->fleet == memory.part)) continue;
    control::FromController message;
    if (!view->sent) {
      const bool refused_just_now =
          !view->ack_error.empty() && shared_.deps.timer.Now() - view->refused_at < shared_.options.refused_pause;
      if (refused_just_now) shared_.deps.queue(api::FleetKey(fleet), shared_.options.refused_pause);
      auto snapshot = refused_just_now ? std::nullopt : SnapshotFor(object, memory, *view);
      if (!snapshot) continue;
      *snapshot->mutable_fleet() = memory.part->state;
      *message.mutable_snapshot()->mutable_state() = std::move(*snapshot);
    } else {
      const auto [change, is_new] = changes.try_emplace(view->sent->fleet.get());
      if (is_new) change->second = plan::ChangeOf(view->sent->fleet->state, memory.part->state);
      message = change->second;
    }
    const Status sent = shared_.deps.nodes.Send(fleet, name, std::move(message), memory.part);
    if (!sent) spdlog::debug("fleet {}: {}", fleet, sent.error().message);
  }
}

// Lets nodes with too many requests ask clients to connect again, for a while after the fleet has grown. A busy node
// reports several times per second, so this function runs often enough.
void FleetReconciler::MoveConnections(const std::string& fleet, FleetMemory& memory,
                                      const std::vector<fleet::NodeInfo>& node_infos) {
  std::vector<balance::NodeReport> reports;
  for (const auto& [name, node] : memory.book.nodes()) {
    const control::Hello& hello = node.view->hello;
    const control::NodeLoad& load = node.view->report->load();
    reports.push_back({.node = name,
                       .incarnation = hello.incarnation(),
                       .serves = node.ready && node.attached && !node.leaving,
                       .received = load.received(),
                       .connections = load.connections(),
                       .can_move = hello.moves_connections()});
  }
  // The book forgets nodes that are disconnected. They are not new when they come back.
  for (const fleet::NodeInfo& node_info : node_infos) {
    if (memory.book.Find(node_info.node) == nullptr) reports.push_back({.node = node_info.node, .serves = false});
  }
  for (const balance::Move& move : memory.balancer.Next(reports, shared_.deps.timer.Now())) {
    control::FromController message;
    message.mutable_move_connections()->set_load_share(move.load_share);
    message.mutable_move_connections()->set_connections_max(move.connections_max);
    const Status sent = shared_.deps.nodes.Send(fleet, move.node, std::move(message));
    spdlog::info("fleet {}: other nodes have too little work, so {} is asked to move {:.0f} % of its requests{}", fleet,
                 move.node, 100 * move.load_share, sent ? "" : ": " + sent.error().message);
  }
}

// Returns nullopt if the node must wait for its snapshot. It waits for a decision on each Model that it reports or
// whose placement may depend on it; a Model that became unreadable keeps its last decision. The served name of a Model
// that was never readable is unknown. While there is such a Model, a node that reports an unknown served name gets no
// snapshot, so that it keeps serving that model.
std::optional<control::DesiredState> FleetReconciler::SnapshotFor(const api::ServingFleet& object,
                                                                  const FleetMemory& memory,
                                                                  const nodes::NodeView& view) const {
  if (!shared_.models_are_known) return std::nullopt;
  const std::string& node = view.hello.node();
  if (const auto undecided = memory.undecided.find(node); undecided != memory.undecided.end()) {
    const bool waits = std::ranges::any_of(undecided->second, [&](const api::Key& key) {
      return !shared_.unreadable.contains(key) && !shared_.models.at(key).refused;
    });
    if (waits) return std::nullopt;
  }
  // The fleet of a Model that was never readable is unknown, but only Models in namespaces that this fleet allows can
  // be of this fleet.
  const bool one_is_unknown = std::ranges::any_of(shared_.unreadable, [&](const auto& entry) {
    return !shared_.models.contains(entry.first) && Allows(object, entry.first.namespace_);
  });
  for (const control::VersionReport& version : view.report->versions()) {
    if (one_is_unknown && !memory.models.contains(version.served_name())) return std::nullopt;
  }
  control::DesiredState state;
  std::map<std::string, control::ModelState> models;
  if (const auto of_node = memory.of_node.find(node); of_node != memory.of_node.end()) {
    for (const api::Key& key : of_node->second) {
      const ModelMemory& model = shared_.models.at(key);
      models[model.served_name] = plan::StateFor(*model.blueprint, node);
    }
  }
  for (auto& [_, model] : models) *state.add_models() = std::move(model);
  return state;
}

void FleetReconciler::WriteTargets() {
  if (shared_.options.targets == nullptr) return;
  Json targets = Json::array();
  for (const std::string& fleet : shared_.deps.fleet.Fleets()) {
    std::set<std::string> there;
    for (const fleet::NodeInfo& process : shared_.deps.fleet.Nodes(fleet)) there.insert(process.node);
    for (const nodes::ViewPtr& view : shared_.deps.nodes.Nodes(fleet)) {
      const control::Hello& hello = view->hello;
      if (!view->connected || !there.contains(hello.node()) || hello.admin_address().empty()) continue;
      targets.push_back({{"targets", {hello.admin_address()}}, {"labels", {{"fleet", fleet}, {"node", hello.node()}}}});
    }
  }
  shared_.options.targets->Set(DumpJson(targets, 1) + "\n");
}

}  // namespace longshore::reconcile
