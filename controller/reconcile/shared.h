// What the reconcilers of all kinds share: their dependencies, and the state of Models and fleets between
// reconciliations. The reconciliation of a Model also reads the state of its fleet; the reconciliation of a fleet also
// reads the states of its Models.
//
// State that must survive a restart of the controller is in the status of the objects. The state here is only what the
// nodes have reported since the controller started, and what was decided from it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "controller/api/types.h"
#include "controller/decide/balance/balance.h"
#include "controller/decide/plan/plan.h"
#include "controller/decide/rollout/rollout.h"
#include "controller/decide/traffic/traffic.h"
#include "controller/fleet/fleet.h"
#include "controller/nodes/nodes.h"
#include "controller/reconcile/event.h"
#include "controller/reconcile/evidence.h"
#include "controller/reconcile/failed_files.h"
#include "controller/reconcile/fleet_book.h"
#include "controller/reconcile/fleet_status.h"
#include "controller/reconcile/targets_file.h"
#include "controller/signals/signals.h"
#include "controller/store/store.h"

namespace longshore::reconcile {

struct Deps {
  store::Store& store;
  nodes::Registry& nodes;
  fleet::Fleet& fleet;
  const Clock& clock;           // For times that are stored in objects.
  const MonotonicClock& timer;  // For timeouts.
  std::function<std::optional<SourceProblem>(const api::Key&)> problem_of;
  std::function<std::unique_ptr<signals::Source>(const signals::Query&)> make_metrics;
  // Schedules a reconciliation of the object after at most this time.
  std::function<void(const api::Key&, Duration)> queue;
  // Publishes an event about a change that is stored already. Must not block.
  std::function<void(const Event&)> record_event;
  // Called when the status that ends a rollout of a Model, by promotion or rollback, is stored.
  std::function<void(const api::Key&, const api::RolloutStatus&)> rollout_ended;
  FailedFiles* failed_files = nullptr;  // Null if the controller does not see the files of nodes.
};

struct Options {
  TargetsFile* targets = nullptr;                      // The file for the admin addresses of the nodes; null: none.
  Duration reconnect_grace = std::chrono::seconds(3);  // How long a disconnected node counts as connected.
  // How long to wait for nodes that were started before this controller to connect.
  Duration adoption_grace = std::chrono::seconds(5);
  // Delay before a snapshot is sent to a node that refused a message.
  Duration refused_pause = std::chrono::seconds(1);
  // How long the status of a Model's first rollout, and new details of any status, may stay unwritten.
  Duration unwritten_max = std::chrono::seconds(1);
  // Time between two Models that are scheduled only because their fleet should have another number of nodes.
  Duration model_pause{0};
  // How long new evidence of a rollout step may stay unwritten if it does not change the decision: as long as the step
  // had lasted when evidence was last written, but at most a minute or a tenth of that time, whichever is longer; at
  // least evidence_unwritten_min and at most evidence_unwritten_max. A minimum of 0 writes evidence immediately.
  Duration evidence_unwritten_min{0};
  Duration evidence_unwritten_max = std::chrono::minutes(5);  // Must be at least evidence_unwritten_min.
};

// A decision whose status is not written to the store yet. This is allowed in three cases. (1) The phases of a
// first rollout until its nodes route requests by it: a controller that restarts and continues from the stored status
// reaches them again. (2) New evidence of a step that does not change the decision: without it, a restarted controller
// only has less evidence. (3) New details, which a restarted controller sees again.
struct Unwritten {
  std::string uid;
  int64_t generation = 0;
  api::ModelStatus from;  // The status in the store, without commands.
  api::ModelStatus status;
  std::vector<rollout::Event> events;
  MonotonicPoint since;
};

// The fields of a status in the store that a `longshore` of release 0.1 drops when it writes the status.
struct NewFields {
  std::string uid;
  std::vector<api::CommandAnswer> answers;
  api::Traffic traffic;
  api::ObservedFleet observed_fleet;
};

// State of one Model between reconciliations. Keep it small: a controller may have many Models.
struct ModelMemory {
  std::string fleet{};  // "namespace/name".
  std::string served_name{};
  bool refused = false;     // Whether the fleet refuses it, or another Model of the fleet has its served name.
  bool has_stable = false;  // This field and the next three are from the last decision.
  bool serves = false;      // Whether it has a stable version, or its first rollout is under way.
  std::optional<Duration> latency_target{};
  double latency_quantile = 0;
  std::unique_ptr<NewFields> new_fields{};     // nullptr: they are empty.
  traffic::Meter traffic{};                    // Counts the requests since status.traffic was written.
  std::optional<plan::Blueprint> blueprint{};  // The state that nodes should have of this Model.
  std::set<std::string> recipients{};          // Nodes that receive the state of this Model.
  std::unique_ptr<Unwritten> unwritten{};
};

// A process of this host that runs and has no stream to the controller.
struct Unconnected {
  int64_t pid = 0;
  MonotonicPoint since{};  // When its stream ended, or when this controller saw it first.
  bool answers = false;    // Whether it has answered when it was asked, so that it is not restarted.
};

// The removal of a fleet whose object was deleted and that still has nodes.
struct Removal {
  MonotonicPoint since;
  std::set<std::string> told{};  // Nodes that were told to end the connections of their clients.
};

// State of one fleet between reconciliations. It exists also if the object of the fleet does not exist.
struct FleetMemory {
  explicit FleetMemory(Duration reconnect_grace) : book(reconnect_grace) {}

  std::optional<Result<api::ServingFleet>> object{};  // Result of the last read; NotFound if it does not exist.
  // The object for which all Models were last scheduled; nullopt: they are to be scheduled; without uid: it is gone.
  std::optional<api::ObservedFleet> observed{};
  Json rest_of_spec{};  // The spec, without the number of nodes, for which all Models were last scheduled.
  // Progress::unreachable for which all Models were last scheduled; nullopt: not known yet.
  std::optional<std::string> unreachable{};
  std::string trouble{};                             // TroubleOf the fleet in its last reconciliation.
  std::set<std::string> awaited{};                   // Nodes started before this controller that have not reported yet.
  std::map<std::string, Unconnected> unconnected{};  // Key: node.
  FleetBook book;
  bool nodes_were_read = false;
  std::optional<Removal> removal{};
  std::set<std::string> released{};                     // Nodes that the fleet was told to stop, and that still exist.
  Changes changes{};                                    // Changes for which the affected Models are not scheduled yet.
  std::map<std::string, std::set<api::Key>> models{};   // Key: served name. Includes refused Models.
  std::set<api::Key> placed_by_nodes{};                 // Models whose placement depends on which nodes exist.
  std::map<std::string, std::set<api::Key>> of_node{};  // Key: node. Value: the Models whose state it receives.
  std::set<api::Key> awaiting_routing{};                // Models that wait until nodes route requests by them.
  // Key: node. Value: the Models that must be decided before the node gets its snapshot. The node would unload a Model
  // that its snapshot lacks.
  std::map<std::string, std::set<api::Key>> undecided{};
  // The fleet part of the state that nodes should have. `peers` are the nodes in it, `part_at` is when it was made.
  std::shared_ptr<const nodes::FleetPart> part{};
  std::shared_ptr<const rollout::NodeNames> peers = rollout::MakeNodeNames({});
  MonotonicPoint part_at{};
  MonotonicPoint status_at{};  // Time of the last status write.
  // The last decision of autoscaling if it is not stored yet, because its write failed or waits, and the uid of the
  // object. Without it, cooldowns and asked nodes would be forgotten.
  std::optional<std::pair<std::string, api::AutoscaleStatus>> unwritten_autoscale{};
  balance::Balancer balancer{};
  MonotonicPoint reconciled_at{};
  Duration reconcile_took{0};
};

// Used only by the thread that reconciles.
struct Shared {
  Shared(Deps dependencies, Options settings);

  FleetMemory& FleetOf(const std::string& fleet);
  // Returns the fleet's object as of the last reconciliation of the fleet; each change of the object triggers one.
  const Result<api::ServingFleet>& ObjectOf(const std::string& fleet);
  Result<api::ServingFleet> ReadFleet(const std::string& fleet) const;
  // Returns what the status of a Model that is reconciled now observes of its fleet.
  api::ObservedFleet ObservedFleetOf(const std::string& fleet);
  // Reads the new reports of the nodes.
  void ReadNodes(const std::string& fleet, FleetMemory& memory, const std::vector<fleet::NodeInfo>& node_infos);
  // Returns FleetMemory::unreachable; asks the fleet if it is not known yet.
  const std::string& WhyUnreachable(const std::string& fleet);
  void SetRecipients(const api::Key& key, ModelMemory& memory, std::set<std::string> nodes);
  void QueueAll(const std::set<api::Key>& keys) const;
  void RecordEvents(const std::vector<Event>& events) const;

  const Deps deps;
  const Options options;
  const MonotonicPoint began;
  EvidenceBook evidence;
  bool models_are_known = false;  // Each Model that was in the store at start is in `models` or `unreadable`.
  std::map<std::string, FleetMemory> fleets;
  std::map<api::Key, ModelMemory> models;
  std::map<api::Key, std::string> unreadable;  // Models that exist but cannot be read, and why.

 private:
  void AwaitDecisions(FleetMemory& memory, const std::string& node);
  void ForgetGoneNodes(const std::string& fleet, const std::vector<nodes::ViewPtr>& views,
                       const std::vector<fleet::NodeInfo>& node_infos);
};

}  // namespace longshore::reconcile
