// Reconciles ServingFleets: starts and scales their nodes, sends nodes their snapshots and writes the fleets' status.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/reconcile/departures.h"
#include "controller/reconcile/kind_reconciler.h"
#include "controller/reconcile/shared.h"

namespace longshore::reconcile {

class FleetReconciler final : public KindReconciler {
 public:
  explicit FleetReconciler(Shared& shared) : shared_(shared) {}

  Result<Reconciliation> Begin(const api::Key& key) override;

 private:
  struct Scaling {
    Status done{};                         // An error if nodes could not be started or removed.
    std::vector<api::Sentence> waiting{};  // Nodes that do not leave yet, and why.
  };
  Scaling Scale(const std::string& fleet, FleetMemory& memory, std::vector<fleet::NodeInfo>& node_infos, int replicas,
                bool waits);
  Departures DepartingNodes(const FleetMemory& memory, const std::vector<fleet::NodeInfo>& node_infos, int count) const;
  Result<Reconciliation> ReconcileFleet(const api::Key& key, FleetMemory& memory);
  Outcome RemoveFleet(const std::string& fleet);
  void EndConnections(const std::string& fleet, Removal& removal) const;
  std::vector<signals::LatencyObjective> ObjectivesOf(const FleetMemory& memory) const;
  api::AutoscaleStatus Autoscale(const api::ServingFleet& object, FleetMemory& memory);
  void MakePart(const api::ServingFleet& object, FleetMemory& memory);
  void MoveHomes(const api::Key& key, ModelMemory& model, const rollout::NodeNames& peers);
  void SendToNodes(const api::ServingFleet& object, FleetMemory& memory);
  std::optional<control::DesiredState> SnapshotFor(const api::ServingFleet& object, const FleetMemory& memory,
                                                   const nodes::NodeView& view) const;
  void MoveConnections(const std::string& fleet, FleetMemory& memory, const std::vector<fleet::NodeInfo>& node_infos);
  FleetSeen FleetSeenOf(const api::ServingFleet& object, const std::vector<fleet::NodeInfo>& node_infos,
                        const Result<fleet::Addresses>& addresses, const Scaling& scaling) const;
  // What Models say of their fleet.
  struct FleetNews {
    api::ObservedFleet observed{};
    const api::ServingFleetSpec* spec = nullptr;  // Null: the object is gone.
    std::string unreachable{};
    std::string trouble{};
  };
  void QueueChangedModels(FleetMemory& memory, const FleetNews& news) const;
  void QueueInTurn(const FleetMemory& memory) const;
  void WriteTargets();
  std::set<std::string> ReturningNodes(const FleetMemory& memory) const;
  std::optional<Duration> WatchUnconnected(const std::string& fleet, FleetMemory& memory, FleetSeen& seen);
  void AskToAnswer(const std::string& fleet, const std::string& node, Unconnected& process);
  bool IsWaitingForNodes(FleetMemory& memory, const std::vector<fleet::NodeInfo>& node_infos) const;

  Shared& shared_;
  std::map<std::string, std::pair<signals::Query, std::unique_ptr<signals::Source>>> sources_;
};

}  // namespace longshore::reconcile
