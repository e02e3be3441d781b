#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <utility>

#include "common/log.h"
#include "controller/api/format.h"
#include "controller/autoscale/autoscale.h"
#include "controller/reconcile/reconciler.h"
#include "controller/store/document.h"

namespace longshore::reconcile {
namespace {

constexpr Duration kMetricsInterval = std::chrono::seconds(1);
constexpr Duration kListenAgain = std::chrono::milliseconds(500);
constexpr Duration kAwaitAgain = std::chrono::milliseconds(100);

// Between two messages to all nodes of a fleet, and between two writes of its status: many that come and go at once
// make one. None in a small fleet.
Duration PauseOf(size_t nodes) {
  constexpr size_t kFew = 20;
  constexpr Duration kForEach = std::chrono::milliseconds(1);
  constexpr Duration kPauseMax = std::chrono::seconds(1);
  return nodes <= kFew ? Duration(0) : std::min(kPauseMax, kForEach * static_cast<int64_t>(nodes));
}

Looked LookAgain(const api::ServingFleet& fleet, const Result<fleet::Addresses>& addresses) {
  // A port that is busy, or sockets that are handed over: that may change at any moment.
  const bool may_listen_soon = !addresses && (addresses.error().code == Code::kFailedPrecondition ||
                                              addresses.error().code == Code::kUnavailable);
  if (may_listen_soon) return kListenAgain;
  if (!addresses) return tl::make_unexpected(addresses.error());
  if (fleet.spec.autoscaling) return kMetricsInterval;
  return std::nullopt;
}

}  // namespace

// A large fleet's look takes milliseconds, and its nodes have news all the time: at most a tenth of the time goes
// there.
Result<Look> Reconciler::BeginFleet(const api::Key& key) {
  constexpr int kRestsMin = 9;  // Times as long as the look.
  constexpr Duration kRestMax = std::chrono::milliseconds(200);
  FleetMemory& memory = FleetOf(key.namespace_ + "/" + key.name);
  const MonotonicPoint now = deps_.timer.Now();
  const MonotonicPoint next = memory.looked_at + std::min(kRestMax, kRestsMin * memory.look_took);
  if (now < next) return Look{std::nullopt, [rest = next - now](const Status&) { return rest; }};
  auto look = LookAtFleet(key, memory);
  memory.looked_at = deps_.timer.Now();
  memory.look_took = memory.looked_at - now;
  return look;
}

Result<Look> Reconciler::LookAtFleet(const api::Key& key, FleetMemory& memory) {
  const std::string fleet = key.namespace_ + "/" + key.name;
  memory.object = ReadFleet(fleet);
  if (!*memory.object && memory.object->error().code == Code::kNotFound) {
    return Look{std::nullopt, [removed = RemoveFleet(fleet)](const Status&) { return removed; }};
  }
  if (!*memory.object) return tl::make_unexpected(memory.object->error());
  const api::ServingFleet& wanted = **memory.object;

  const Result<fleet::Addresses> addresses = deps_.fleet.Ensure(wanted);
  std::vector<fleet::NodeInfo> machines = deps_.fleet.Nodes(fleet);
  LookAtNodes(fleet, memory, machines);
  api::ServingFleet next = wanted;
  next.status.autoscale = Autoscale(wanted, memory);
  const int replicas = wanted.spec.autoscaling ? next.status.autoscale.desired : wanted.spec.replicas_min;
  Status scaled;
  if (addresses) {
    const bool too_many = replicas < CountStaying(machines);
    scaled = deps_.fleet.Scale(fleet, replicas,
                               too_many ? LeaveFirst(memory.book.nodes(), machines) : std::vector<std::string>());
    if (replicas != CountStaying(machines)) machines = deps_.fleet.Nodes(fleet);
  }
  const bool waited = !memory.awaited.empty();
  const bool waits = IsWaitingForNodes(memory, machines);
  if (waited && !waits) memory.object_seen.clear();  // Now its Models can be looked at.
  if (!waits) TellNodes(wanted, memory);
  WriteTargets();
  if (!waits) LookAtModels(memory, fmt::format("{} {}", wanted.metadata.uid, wanted.metadata.generation));
  // Whatever cannot be written down holds nothing of the above up.
  next.status = DescribeFleet(next, FleetSeenOf(wanted, machines, addresses, scaled), deps_.clock.Now());
  const MonotonicPoint now = deps_.timer.Now();
  const MonotonicPoint may_write_at = memory.status_at + PauseOf(machines.size());
  Look look;
  if (next.status != wanted.status && now < may_write_at) {
    deps_.look_at(key, may_write_at - now);
    next.status = wanted.status;
  } else if (next.status != wanted.status) {
    memory.status_at = now;
    look.write = {key, wanted.metadata.uid, wanted.metadata.resource_version, api::ToJson(next.status)};
  }
  if (waits) deps_.look_at(key, kAwaitAgain);
  look.finish = [this, wanted, status = next.status, addresses, scaled](const Status& written) -> Looked {
    RETURN_IF_ERROR(written);
    Tell(EventsOf(wanted, status));
    RETURN_IF_ERROR(scaled);
    return LookAgain(wanted, addresses);
  };
  return look;
}

// What the nodes of the fleet say.
void Reconciler::LookAtNodes(const std::string& fleet, FleetMemory& memory,
                             const std::vector<fleet::NodeInfo>& machines) {
  const std::vector<nodes::ViewPtr> views = deps_.nodes.Nodes(fleet);
  News news = memory.book.Update(views, machines, deps_.timer.Now());
  for (const nodes::ViewPtr& view : news.reported) {
    evidence_.Take(fleet, view->hello.node(), view->hello.incarnation(), *view->report);
  }
  for (const std::string& node : news.nodes) AwaitDecisions(memory, node);
  if (const auto until = memory.book.patient_until()) {
    deps_.look_at(api::FleetKey(fleet), std::max(Duration(0), *until - deps_.timer.Now()) + Duration(1));
  }
  ForgetGoneNodes(fleet, views, machines);
  memory.news.models.merge(news.models);
  memory.news.nodes.merge(news.nodes);
  memory.has_looked = true;
}

// A node that came gets its snapshot when all was decided that it may change, or that it speaks of.
void Reconciler::AwaitDecisions(FleetMemory& memory, const std::string& node) {
  memory.undecided.erase(node);
  const KnownNode* known = memory.book.Find(node);
  if (known == nullptr || known->view->sent) return;
  std::set<api::Key> models = memory.elastic;
  for (const control::VersionReport& version : known->view->report->versions()) {
    const auto of_name = memory.models.find(version.served_name());
    if (of_name != memory.models.end()) models.insert(of_name->second.begin(), of_name->second.end());
  }
  if (!models.empty()) memory.undecided.emplace(node, std::move(models));
}

FleetSeen Reconciler::FleetSeenOf(const api::ServingFleet& object, const std::vector<fleet::NodeInfo>& machines,
                                  const Result<fleet::Addresses>& addresses, const Status& scaled) const {
  const api::Key key{api::kServingFleetKind, object.metadata.namespace_, object.metadata.name};
  const FleetBook& book = fleets_.at(key.namespace_ + "/" + key.name).book;
  FleetSeen seen{deps_.nodes.epoch(), machines, &book.nodes(), addresses, scaled, deps_.problem_of(key)};
  for (const auto& [model, why] : unreadable_) {
    if (Allows(object, model.namespace_)) seen.unreadable.push_back(fmt::format("{}: {}", ToString(model), why));
  }
  return seen;
}

// A node that is gone for good is not coming back under the same name with the same state.
void Reconciler::ForgetGoneNodes(const std::string& fleet, const std::vector<nodes::ViewPtr>& views,
                                 const std::vector<fleet::NodeInfo>& machines) {
  std::set<std::string_view> there;
  for (const fleet::NodeInfo& machine : machines) there.insert(machine.node);
  for (const nodes::ViewPtr& view : views) {
    const std::string& node = view->hello.node();
    if (view->connected || there.contains(node)) continue;
    deps_.nodes.Forget(fleet, node);
    evidence_.ForgetNode(fleet, node);
  }
}

// At those for which something has changed: the fleet itself, what nodes say of them, or the nodes that there are.
void Reconciler::LookAtModels(FleetMemory& memory, const std::string& object_seen) {
  const News news = std::exchange(memory.news, {});
  if (std::exchange(memory.object_seen, object_seen) != object_seen) {
    for (const auto& [_, models] : memory.models) LookAtAll(models);
    return;
  }
  for (const std::string& name : news.models) {
    const auto models = memory.models.find(name);
    if (models != memory.models.end()) LookAtAll(models->second);
  }
  if (!news.nodes.empty()) LookAtAll(memory.elastic);
  for (const std::string& node : news.nodes) {
    const auto models = memory.of_node.find(node);
    if (models != memory.of_node.end()) LookAtAll(models->second);
    const auto undecided = memory.undecided.find(node);
    if (undecided != memory.undecided.end()) LookAtAll(undecided->second);
  }
}

// The nodes of a fleet that is no more finish their work first.
Looked Reconciler::RemoveFleet(const std::string& fleet) {
  sources_.erase(fleet);
  FleetMemory& memory = FleetOf(fleet);
  LookAtNodes(fleet, memory, deps_.fleet.Nodes(fleet));
  memory.awaited.clear();
  LookAtModels(memory, "gone");
  const Status removed = deps_.fleet.Remove(fleet);  // When nodes are left, it tells when one of them has gone.
  WriteTargets();
  RETURN_IF_ERROR(removed);
  return std::nullopt;
}

api::AutoscaleStatus Reconciler::Autoscale(const api::ServingFleet& object, const FleetMemory& memory) {
  const std::string fleet = object.metadata.namespace_ + "/" + object.metadata.name;
  if (!object.spec.autoscaling) {
    sources_.erase(fleet);
    return {};
  }
  metrics::Query query{fleet, 0.99, object.spec.autoscaling->prometheus_url, object.spec.autoscaling->metrics_age_max};
  autoscale::Input input;
  input.replicas = CountStaying(deps_.fleet.Nodes(fleet));
  for (const auto& [_, models] : memory.models) {
    for (const api::Key& key : models) {
      const ModelMemory& model = models_.at(key);
      if (!model.latency_target || (input.latency_target && *input.latency_target <= *model.latency_target)) continue;
      input.latency_target = model.latency_target;
      query.latency_quantile = model.latency_quantile;
    }
  }
  auto& [asked, source] = sources_[fleet];
  if (!source || asked != query) {
    asked = query;
    source = deps_.make_metrics(query);
  }
  const TimePoint now = deps_.clock.Now();
  std::vector<nodes::ViewPtr> ready;
  for (const auto& [name, node] : memory.book.nodes()) {
    if (!node.ready || node.leaving) continue;
    if (const nodes::ViewPtr live = deps_.nodes.Node(fleet, name)) ready.push_back(live);
  }
  if (source) input.metrics = source->Latest(ready, now);
  return autoscale::Decide(object.spec, object.status.autoscale, input, now);
}

// Many nodes that come at once are told of together.
void Reconciler::MakePart(const api::ServingFleet& object, FleetMemory& memory) {
  const MonotonicPoint now = deps_.timer.Now();
  std::vector<control::Peer> peers;
  for (const auto& [_, node] : memory.book.nodes()) {
    if (!node.view->report->draining()) peers.push_back(PeerOf(*node.view));
  }
  const Duration pause = PauseOf(peers.size());
  control::FleetState state = plan::BuildFleetState(object, std::move(peers));
  if (memory.part && google::protobuf::util::MessageDifferencer::Equals(memory.part->state, state)) return;
  if (memory.part && now < memory.part_at + pause) {
    deps_.look_at({api::kServingFleetKind, object.metadata.namespace_, object.metadata.name},
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
    for (const api::Key& key : models) MoveHomes(key, models_.at(key), *memory.peers);
  }
}

// One that cannot be read is as it was decided last, and nobody will look at it.
void Reconciler::MoveHomes(const api::Key& key, ModelMemory& model, const rollout::NodeNames& peers) {
  if (!model.blueprint || model.refused) return;
  std::set<std::string> nodes = plan::ConcernedNodes(model.served_name, model.blueprint->placement, peers);
  if (nodes == model.concerned) return;
  if (unreadable_.contains(key)) {
    SetConcerned(key, model, std::move(nodes));
  } else {
    deps_.look_at(key, Duration(0));
  }
}

void Reconciler::TellNodes(const api::ServingFleet& object, FleetMemory& memory) {
  const std::string fleet = object.metadata.namespace_ + "/" + object.metadata.name;
  MakePart(object, memory);
  std::map<const nodes::FleetPart*, control::FromController> changes;  // From what nodes hold to what they should hold.
  for (const auto& [name, node] : memory.book.nodes()) {
    const nodes::ViewPtr view = deps_.nodes.Node(fleet, name);
    if (!view || !view->connected || !view->reported || (view->sent && view->sent->fleet == memory.part)) continue;
    control::FromController message;
    if (!view->sent) {
      const bool refused_just_now =
          !view->ack_error.empty() && deps_.timer.Now() - view->refused_at < options_.refused_pause;
      if (refused_just_now) deps_.look_at(api::FleetKey(fleet), options_.refused_pause);
      auto snapshot = refused_just_now ? std::nullopt : SnapshotFor(object, memory, *view);
      if (!snapshot) continue;
      *snapshot->mutable_fleet() = memory.part->state;
      *message.mutable_snapshot()->mutable_state() = std::move(*snapshot);
    } else {
      const auto [change, is_new] = changes.try_emplace(view->sent->fleet.get());
      if (is_new) change->second = plan::ChangeOf(view->sent->fleet->state, memory.part->state);
      message = change->second;
    }
    const Status sent = deps_.nodes.Send(fleet, name, std::move(message), memory.part);
    if (!sent) spdlog::debug("fleet {}: {}", fleet, sent.error().message);
  }
}

// Nothing until every model was decided that this node may change, or speaks of. A model that cannot be read any more
// is as it was decided last; one that never could be read is kept by the nodes that serve it, which get nothing
// meanwhile.
std::optional<control::DesiredState> Reconciler::SnapshotFor(const api::ServingFleet& object, const FleetMemory& memory,
                                                             const nodes::NodeView& view) const {
  if (!learned_) return std::nullopt;
  const std::string& node = view.hello.node();
  if (const auto undecided = memory.undecided.find(node); undecided != memory.undecided.end()) {
    const bool waits = std::ranges::any_of(
        undecided->second, [&](const api::Key& key) { return !unreadable_.contains(key) && !models_.at(key).refused; });
    if (waits) return std::nullopt;
  }
  // Which fleet it is of is not known, but a fleet's models are of its namespace and those that it allows.
  const bool one_is_unknown = std::ranges::any_of(unreadable_, [&](const auto& entry) {
    return !models_.contains(entry.first) && Allows(object, entry.first.namespace_);
  });
  for (const control::VersionReport& version : view.report->versions()) {
    if (one_is_unknown && !memory.models.contains(version.served_name())) return std::nullopt;
  }
  control::DesiredState state;
  std::map<std::string, control::ModelState> models;
  if (const auto of_node = memory.of_node.find(node); of_node != memory.of_node.end()) {
    for (const api::Key& key : of_node->second) {
      const ModelMemory& model = models_.at(key);
      models[model.served_name] = plan::StateFor(*model.blueprint, node);
    }
  }
  for (auto& [_, model] : models) *state.add_models() = std::move(model);
  return state;
}

// What Prometheus reads to find the nodes (file_sd_configs). Written only when it changes.
void Reconciler::WriteTargets() {
  if (options_.prometheus_targets.empty()) return;
  Json targets = Json::array();
  for (const std::string& fleet : deps_.fleet.Fleets()) {
    std::set<std::string> there;
    for (const fleet::NodeInfo& process : deps_.fleet.Nodes(fleet)) there.insert(process.node);
    for (const nodes::ViewPtr& view : deps_.nodes.Nodes(fleet)) {
      const control::Hello& hello = view->hello;
      if (!view->connected || !there.contains(hello.node()) || hello.admin_address().empty()) continue;
      targets.push_back({{"targets", {hello.admin_address()}}, {"labels", {{"fleet", fleet}, {"node", hello.node()}}}});
    }
  }
  const std::string text = targets.dump(1) + "\n";
  if (text == targets_written_) return;
  std::error_code error;
  std::filesystem::create_directories(options_.prometheus_targets.parent_path(), error);
  const Status written = WriteFileAtomically(options_.prometheus_targets, text);
  if (!written) spdlog::error("{}", written.error().message);
  if (written) targets_written_ = text;
}

}  // namespace longshore::reconcile
