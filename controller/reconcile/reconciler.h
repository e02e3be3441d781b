// Reconciles one object at a time: observe, compute, apply.
//
// Level-based: each reconciliation starts from the current state of the store, the fleet and the nodes. It does not
// depend on which change triggered it, or on whether an earlier reconciliation was interrupted. State that must survive
// a restart of the controller is in the status of the objects; this class keeps only what the nodes have reported since
// it was created.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/file.h"
#include "controller/api/types.h"
#include "controller/fleet/fleet.h"
#include "controller/metrics/metrics.h"
#include "controller/nodes/nodes.h"
#include "controller/plan/plan.h"
#include "controller/reconcile/admission.h"
#include "controller/reconcile/event.h"
#include "controller/reconcile/evidence.h"
#include "controller/reconcile/fleet_book.h"
#include "controller/reconcile/fleet_status.h"
#include "controller/reconcile/observe.h"
#include "controller/rollout/rollout.h"
#include "controller/store/store.h"

namespace longshore::reconcile {

struct Deps {
  store::Store& store;
  nodes::Registry& nodes;
  fleet::Fleet& fleet;
  const Clock& clock;           // For times that are stored in objects.
  const MonotonicClock& timer;  // For timeouts.
  std::function<std::optional<SourceProblem>(const api::Key&)> problem_of;
  std::function<std::unique_ptr<metrics::Source>(const metrics::Query&)> make_metrics;
  // Schedules a reconciliation of the object after at most this time.
  std::function<void(const api::Key&, Duration)> queue;
  // Publishes an event of a change that is stored already. Must not block.
  std::function<void(const Event&)> record_event;
  // Called when a promotion or rollback of a Model is stored.
  std::function<void(const api::Key&, const api::RolloutStatus&)> rollout_ended;
};

struct Options {
  Path prometheus_targets{};  // File for the admin addresses of the nodes (file_sd); empty: none.
  Duration reconnect_grace = std::chrono::seconds(3);  // How long a disconnected node still counts.
  // How long to wait for nodes that were started before this controller to connect.
  Duration adoption_grace = std::chrono::seconds(5);
  // Delay before a snapshot is sent to a node that refused a message.
  Duration refused_pause = std::chrono::seconds(1);
  // How long the status of a Model's first rollout may stay unwritten.
  Duration unwritten_max = std::chrono::seconds(1);
  // How long new evidence of a rollout step may stay unwritten if it does not change the decision: as long as the step
  // had lasted at the last write of evidence, limited to this range. A minimum of 0 writes evidence immediately.
  Duration evidence_unwritten_min{0};
  Duration evidence_unwritten_max = std::chrono::seconds(60);  // Must be at least evidence_unwritten_min.
};

// Time until the next reconciliation if nothing changes (nullopt: none is needed). An error means: retry soon.
using Outcome = Result<std::optional<Duration>>;

struct StatusWrite {
  api::Key key;
  std::string uid;
  std::string resource_version;
  Json status;
};

// A reconciliation in progress: the status to write, and what to do after the write.
struct Reconciliation {
  std::optional<StatusWrite> write;
  // Call it exactly once with the result of the write, or with OK if there is nothing to write.
  std::function<Outcome(const Status& written)> finish;
};

// All members except Write must be called from one thread.
//
// The cost depends on the size of the change, not on the size of the fleet: reconciling a Model reads the nodes that
// report it and the nodes that receive its state; reconciling a fleet reads the nodes with new reports and schedules
// the Models that those affect.
class Reconciler {
 public:
  Reconciler(Deps deps, Options options);

  // Moves the actual state one step towards the spec of the object.
  Outcome Reconcile(const api::Key& key);

  // The same in three calls, so that status writes of several objects can be in progress at once: Begin, then Write if
  // there is something to write, then finish. Reconciliations of other objects may happen in between, but not of the
  // same object.
  Result<Reconciliation> Begin(const api::Key& key);
  Status Write(const StatusWrite& write) const;  // Any thread.

 private:
  // A decision whose status is not written yet. Two cases allow this: the short states of a first rollout, which a
  // controller that decides from the stored status would reach again; and new evidence of a step that changes no
  // decision, of which such a controller would merely have less.
  struct Unwritten {
    bool StillApplies(const api::Model& model) const;

    std::string uid;
    int64_t generation = 0;
    api::ModelStatus from;  // The stored status, without its command.
    api::ModelStatus status;
    std::vector<rollout::Event> events;
    MonotonicPoint since;
  };

  // State of one Model between reconciliations. Keep it small: a controller may have many Models.
  struct ModelMemory {
    std::string fleet{};  // "namespace/name".
    std::string served_name{};
    bool refused = false;     // The fleet refuses it, or another Model of the fleet has its served name.
    bool has_stable = false;  // This field and the next three are from the last decision.
    bool serves = false;      // Has a stable version, or its first rollout is under way.
    std::optional<Duration> latency_target{};
    double latency_quantile = 0;
    std::optional<plan::Blueprint> blueprint{};  // The state that nodes should have of this Model.
    std::set<std::string> recipients{};          // Nodes that receive the state of this Model.
    std::unique_ptr<Unwritten> unwritten{};
  };

  // State of one fleet between reconciliations, also if its object does not exist.
  struct FleetMemory {
    explicit FleetMemory(Duration reconnect_grace) : book(reconnect_grace) {}

    std::optional<Result<api::ServingFleet>> object{};  // The last read; NotFound if it does not exist.
    std::string object_seen{};        // Its uid and generation when its Models were last scheduled because of it.
    std::set<std::string> awaited{};  // Nodes started before this controller that have not reported yet.
    FleetBook book;
    bool nodes_were_read = false;
    Changes changes{};                                   // Changes for which the affected Models are not scheduled yet.
    std::map<std::string, std::set<api::Key>> models{};  // By served name; includes refused Models.
    std::set<api::Key> elastic{};                        // Models whose placement depends on which nodes exist.
    std::map<std::string, std::set<api::Key>> of_node{};  // By node: the Models whose state it receives.
    // By node: Models to decide before the node gets its snapshot; a snapshot without them would unload them.
    std::map<std::string, std::set<api::Key>> undecided{};
    // The fleet part of the state that nodes should have, and below its peers and the time it was made.
    std::shared_ptr<const nodes::FleetPart> part{};
    std::shared_ptr<const rollout::NodeNames> peers = rollout::MakeNodeNames({});
    MonotonicPoint part_at{};
    MonotonicPoint status_at{};  // Time of the last status write.
    MonotonicPoint reconciled_at{};
    Duration reconcile_took{0};
  };

  // model.cc
  Result<Reconciliation> BeginModel(const api::Key& key);
  Result<api::Model> ReadModel(const store::Object& object) const;
  void NoteReadable(const api::Key& key, const Result<api::Model>& model);
  ModelMemory& MemoryOf(const api::Model& model, bool refused);
  static void NoteModel(const api::Model& model, ModelMemory& memory);
  Reconciliation Apply(const api::Model& model, const rollout::Decision& decision, const rollout::Observed& observed);
  Duration MayWaitFor(const api::Model& model, const rollout::Decision& decision) const;
  Reconciliation DeferWrite(const api::Model& model, const rollout::Decision& decision,
                            const rollout::Observed& observed, Duration at_most);
  Outcome FinishModel(const api::Model& model, const rollout::Decision& decision, const rollout::Observed& observed,
                      const Status& written);
  void TakeEvidence(const api::Model& model, const rollout::Decision& decision, const rollout::Observed& observed);
  void Remember(const api::Key& key, const api::Model& model, const rollout::Placement& placement);
  void SetRecipients(const api::Key& key, ModelMemory& memory, std::set<std::string> nodes);
  void RemoveModel(const api::Key& key);
  std::string ConflictOf(const api::Key& key, const ModelMemory& memory) const;
  Result<std::optional<Refusal>> RefusalByFleet(const api::Model& model, const std::string& fleet);
  rollout::Observed Observe(const api::Model& model, const ModelMemory& memory) const;
  void Send(const api::Key& key, const plan::SendModel& send, const std::string& fleet);
  std::vector<plan::NodeHolds> HoldsOf(const ModelMemory& memory, const std::set<std::string>& recipients) const;
  void ReportProblems(const api::Model& model, const std::string& conflict, const std::optional<Refusal>& refusal,
                      api::ModelStatus& status);

  // fleet.cc
  Result<Reconciliation> BeginFleet(const api::Key& key);
  Result<Reconciliation> ReconcileFleet(const api::Key& key, FleetMemory& memory);
  Outcome RemoveFleet(const std::string& fleet);
  void ReadNodes(const std::string& fleet, FleetMemory& memory, const std::vector<fleet::NodeInfo>& machines);
  void AwaitDecisions(FleetMemory& memory, const std::string& node);
  std::vector<metrics::LatencyObjective> ObjectivesOf(const FleetMemory& memory) const;
  api::AutoscaleStatus Autoscale(const api::ServingFleet& object, const FleetMemory& memory);
  void MakePart(const api::ServingFleet& object, FleetMemory& memory);
  void MoveHomes(const api::Key& key, ModelMemory& model, const rollout::NodeNames& peers);
  void SendToNodes(const api::ServingFleet& object, FleetMemory& memory);
  std::optional<control::DesiredState> SnapshotFor(const api::ServingFleet& object, const FleetMemory& memory,
                                                   const nodes::NodeView& view) const;
  FleetSeen FleetSeenOf(const api::ServingFleet& object, const std::vector<fleet::NodeInfo>& machines,
                        const Result<fleet::Addresses>& addresses, const Status& scaled) const;
  void ForgetGoneNodes(const std::string& fleet, const std::vector<nodes::ViewPtr>& views,
                       const std::vector<fleet::NodeInfo>& machines);
  void QueueChangedModels(FleetMemory& memory, const std::string& object_seen);
  void QueueAll(const std::set<api::Key>& models) const;
  void WriteTargets();

  FleetMemory& FleetOf(const std::string& fleet);
  const Result<api::ServingFleet>& ObjectOf(const std::string& fleet);
  Result<api::ServingFleet> ReadFleet(const std::string& fleet) const;
  bool IsWaitingForNodes(FleetMemory& memory, const std::vector<fleet::NodeInfo>& machines) const;
  void LearnModels();
  void RecordEvents(const std::vector<Event>& events) const;

  const Deps deps_;
  const Options options_;
  const MonotonicPoint began_;
  EvidenceBook evidence_;
  bool learned_ = false;
  std::map<std::string, FleetMemory> fleets_;
  std::map<api::Key, ModelMemory> models_;
  std::map<api::Key, std::string> unreadable_;  // Models that exist but cannot be read, and why.
  std::map<std::string, std::pair<metrics::Query, std::unique_ptr<metrics::Source>>> sources_;
  std::string targets_written_;
};

}  // namespace longshore::reconcile
