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

Result<Look> Reconciler::BeginFleet(const api::Key& key) {
  const std::string fleet = key.namespace_ + "/" + key.name;
  const auto object = deps_.store.Get(key);
  if (!object && object.error().code == Code::kNotFound) {
    return Look{std::nullopt, [removed = RemoveFleet(fleet)](const Status&) { return removed; }};
  }
  if (!object) return tl::make_unexpected(object.error());
  ASSIGN_OR_RETURN(const api::ServingFleet wanted, store::ToFleet(*object));

  const Result<fleet::Addresses> addresses = deps_.fleet.Ensure(wanted);
  const std::vector<KnownNode> nodes = KnownNodes(fleet);
  api::ServingFleet next = wanted;
  next.status.autoscale = Autoscale(wanted, nodes);
  const int replicas = wanted.spec.autoscaling ? next.status.autoscale.desired : wanted.spec.replicas_min;
  const Status scaled =
      addresses ? deps_.fleet.Scale(fleet, replicas, LeaveFirst(nodes, deps_.fleet.Nodes(fleet))) : Status{};
  ForgetGoneNodes(fleet);
  if (!IsWaitingForNodes(fleet, nodes)) TellNodes(wanted, nodes);
  WriteTargets();
  LookAtModels(wanted, nodes);
  // Whatever cannot be written down holds nothing of the above up.
  next.status = DescribeFleet(next, FleetSeenOf(wanted, nodes, addresses, scaled), deps_.clock.Now());
  Look look;
  if (Json status = api::ToJson(next.status); status != api::ToJson(wanted.status))
    look.write = {key, object->metadata.uid, object->metadata.resource_version, std::move(status)};
  look.finish = [this, wanted, status = next.status, addresses, scaled](const Status& written) -> Looked {
    RETURN_IF_ERROR(written);
    Tell(EventsOf(wanted, status));
    RETURN_IF_ERROR(scaled);
    return LookAgain(wanted, addresses);
  };
  return look;
}

FleetSeen Reconciler::FleetSeenOf(const api::ServingFleet& object, const std::vector<KnownNode>& nodes,
                                  const Result<fleet::Addresses>& addresses, const Status& scaled) const {
  const api::Key key{api::kServingFleetKind, object.metadata.namespace_, object.metadata.name};
  FleetSeen seen{deps_.nodes.epoch(),  deps_.fleet.Nodes(key.namespace_ + "/" + key.name), nodes, addresses, scaled,
                 deps_.problem_of(key)};
  for (const auto& [model, why] : unreadable_) {
    if (Allows(object, model.namespace_)) seen.unreadable.push_back(fmt::format("{}: {}", ToString(model), why));
  }
  return seen;
}

// A node that is gone for good is not coming back under the same name with the same state.
void Reconciler::ForgetGoneNodes(const std::string& fleet) {
  std::set<std::string> there;
  for (const fleet::NodeInfo& process : deps_.fleet.Nodes(fleet)) there.insert(process.node);
  for (const nodes::NodeView& view : deps_.nodes.Nodes(fleet)) {
    const std::string& node = view.hello.node();
    if (view.connected || there.contains(node)) continue;
    deps_.nodes.Forget(fleet, node);
    evidence_.ForgetNode(fleet, node);
  }
}

void Reconciler::LookAtModels(const api::ServingFleet& object, const std::vector<KnownNode>& nodes) {
  const std::string fleet = object.metadata.namespace_ + "/" + object.metadata.name;
  News news = news_.Take(fleet, nodes, NodesLeaving(fleet));
  const std::string object_seen = fmt::format("{} {}", object.metadata.uid, object.metadata.generation);
  if (std::exchange(fleets_seen_[fleet], object_seen) != object_seen) news.of_all = true;
  for (const auto& [model, memory] : models_) {
    if (memory.fleet != fleet) continue;
    if (news.of_all || news.of_models.contains(memory.served_name)) deps_.look_at(model, Duration(0));
  }
}

// The nodes of a fleet that is no more finish their work first.
Looked Reconciler::RemoveFleet(const std::string& fleet) {
  sources_.erase(fleet);
  news_.Forget(fleet);
  if (fleets_seen_.erase(fleet) > 0) {
    for (const auto& [model, memory] : models_) {
      if (memory.fleet == fleet) deps_.look_at(model, Duration(0));
    }
  }
  const Status removed = deps_.fleet.Remove(fleet);  // When nodes are left, it tells when one of them has gone.
  WriteTargets();
  ForgetGoneNodes(fleet);
  RETURN_IF_ERROR(removed);
  return std::nullopt;
}

api::AutoscaleStatus Reconciler::Autoscale(const api::ServingFleet& object, const std::vector<KnownNode>& nodes) {
  const std::string fleet = object.metadata.namespace_ + "/" + object.metadata.name;
  if (!object.spec.autoscaling) {
    sources_.erase(fleet);
    return {};
  }
  metrics::Query query{fleet, 0.99, object.spec.autoscaling->prometheus_url, object.spec.autoscaling->metrics_age_max};
  autoscale::Input input;
  input.replicas = CountStaying(deps_.fleet.Nodes(fleet));
  for (const auto& [_, memory] : models_) {
    if (memory.fleet != fleet || !memory.model || !memory.model->spec.slo.latency_target) continue;
    const api::Slo& slo = memory.model->spec.slo;
    if (input.latency_target && *input.latency_target <= *slo.latency_target) continue;
    input.latency_target = slo.latency_target;
    query.latency_quantile = slo.latency_quantile;
  }
  auto& [asked, source] = sources_[fleet];
  if (!source || asked != query) {
    asked = query;
    source = deps_.make_metrics(query);
  }
  const TimePoint now = deps_.clock.Now();
  const std::set<std::string> leaving = NodesLeaving(fleet);
  std::vector<nodes::NodeView> ready;
  for (const KnownNode& node : nodes) {
    if (IsReady(node) && !leaving.contains(node.view.hello.node())) ready.push_back(node.view);
  }
  if (source) input.metrics = source->Latest(ready, now);
  return autoscale::Decide(object.spec, object.status.autoscale, input, now);
}

void Reconciler::TellNodes(const api::ServingFleet& object, const std::vector<KnownNode>& nodes) {
  const std::string fleet = object.metadata.namespace_ + "/" + object.metadata.name;
  std::vector<control::Peer> peers;
  for (const KnownNode& node : nodes) {
    if (!node.view.report->draining()) peers.push_back(PeerOf(node.view));
  }
  const control::FleetState state = plan::BuildFleetState(object, peers);
  for (const KnownNode& node : nodes) {
    if (!node.attached) continue;
    const std::string& name = node.view.hello.node();
    control::FromController message;
    if (!node.view.sent) {
      const bool refused_just_now =
          !node.view.ack_error.empty() && deps_.timer.Now() - node.view.refused_at < options_.refused_pause;
      auto snapshot = SnapshotFor(object, node.view);
      if (refused_just_now) {
        deps_.look_at({api::kServingFleetKind, object.metadata.namespace_, object.metadata.name},
                      options_.refused_pause);
      }
      if (refused_just_now || !snapshot) continue;
      *snapshot->mutable_fleet() = state;
      *message.mutable_snapshot()->mutable_state() = std::move(*snapshot);
    } else if (!google::protobuf::util::MessageDifferencer::Equals(node.view.sent->fleet(), state)) {
      *message.mutable_fleet() = state;
    } else {
      continue;
    }
    const Status sent = deps_.nodes.Send(fleet, name, std::move(message));
    if (!sent) spdlog::debug("fleet {}: {}", fleet, sent.error().message);
  }
}

// Nothing until every model of the fleet was decided with this node in sight. A model that cannot be read any more is
// as it was decided last; one that never could be read is kept by the nodes that serve it, which get nothing meanwhile.
std::optional<control::DesiredState> Reconciler::SnapshotFor(const api::ServingFleet& object,
                                                             const nodes::NodeView& view) const {
  if (!learned_) return std::nullopt;
  const std::string fleet = object.metadata.namespace_ + "/" + object.metadata.name;
  std::map<std::string, control::ModelState> models;
  for (const auto& [key, memory] : models_) {
    if (memory.fleet != fleet || memory.refused) continue;
    if (!unreadable_.contains(key) && !memory.seen_nodes.contains(view.hello.node())) return std::nullopt;
    if (!memory.placement) continue;
    models[memory.served_name] = plan::BuildModelState(*memory.model, *memory.placement, view.hello.node());
  }
  // Which fleet it is of is not known, but a fleet's models are of its namespace and those that it allows.
  const bool one_is_unknown = std::ranges::any_of(unreadable_, [&](const auto& entry) {
    return !models_.contains(entry.first) && Allows(object, entry.first.namespace_);
  });
  for (const control::VersionReport& version : view.report->versions()) {
    if (one_is_unknown && !models.contains(version.served_name())) return std::nullopt;
  }
  control::DesiredState state;
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
    for (const nodes::NodeView& view : deps_.nodes.Nodes(fleet)) {
      if (!view.connected || !there.contains(view.hello.node()) || view.hello.admin_address().empty()) continue;
      targets.push_back(
          {{"targets", {view.hello.admin_address()}}, {"labels", {{"fleet", fleet}, {"node", view.hello.node()}}}});
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
