// The shell round the decisions: Observe → Compute → Apply, for one object at a time.
//
// Level-based: every look begins with what is there now, so it does not matter which change caused it, or whether an
// earlier look was cut off anywhere. What must survive a restart of the controller is in the objects' status; what is
// kept here is only what the nodes have said since we listened.
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
#include "controller/reconcile/fleet_status.h"
#include "controller/reconcile/news.h"
#include "controller/reconcile/observe.h"
#include "controller/rollout/rollout.h"
#include "controller/store/store.h"

namespace longshore::reconcile {

struct Deps {
  store::Store& store;
  nodes::Registry& nodes;
  fleet::Fleet& fleet;
  const Clock& clock;           // For what is written down.
  const MonotonicClock& timer;  // For what is waited for.
  std::function<std::optional<SourceProblem>(const api::Key&)> problem_of;
  std::function<std::unique_ptr<metrics::Source>(const metrics::Query&)> make_metrics;
  // Look at this object within this time.
  std::function<void(const api::Key&, Duration)> look_at;
  // Something that is written down has happened. Must not wait.
  std::function<void(const Event&)> tell;
  // A Model's rollout was promoted or rolled back, and that is written down.
  std::function<void(const api::Key&, const api::RolloutStatus&)> rollout_ended;
};

struct Options {
  Path prometheus_targets{};                             // Where the nodes' admin addresses are written (file_sd).
  Duration patience = std::chrono::seconds(3);           // With a node whose stream ended.
  Duration adoption_patience = std::chrono::seconds(5);  // For nodes that ran before this controller to say hello.
  Duration refused_pause = std::chrono::seconds(1);      // Before a node that refused a message gets a snapshot.
};

// When to look again if nothing changes; an error means that it should be tried again soon.
using Looked = Result<std::optional<Duration>>;

struct StatusWrite {
  api::Key key;
  std::string uid;
  std::string resource_version;
  Json status;
};

// A look that has begun: what is to be written down, and what follows when it is known what became of that.
struct Look {
  std::optional<StatusWrite> write;
  std::function<Looked(const Status& written)> finish;  // To be called once; OK where nothing is to be written.
};

// Belongs to one thread, except for Write.
class Reconciler {
 public:
  Reconciler(Deps deps, Options options);

  // Brings the world one step nearer to what the object says.
  Looked Reconcile(const api::Key& key);

  // The same in pieces, so that the writes of several objects can be under way at once: Begin, Write where there is
  // something to write, finish. Other objects' looks may come in between, none of the same object.
  Result<Look> Begin(const api::Key& key);
  Status Write(const StatusWrite& write) const;  // Any thread.

 private:
  // What is remembered of a model between two looks.
  struct ModelMemory {
    std::string fleet;  // "namespace/name".
    std::string served_name;
    bool refused = false;  // Its fleet does not take it, or another model of the fleet has its served name.
    std::string rollout_id;
    std::optional<api::Model> model;              // As decided last, with
    std::optional<rollout::Placement> placement;  // what nodes should hold of it, and
    std::set<std::string> seen_nodes;             // the nodes that were known then.
  };

  // model.cc
  Result<Look> BeginModel(const api::Key& key);
  Result<api::Model> ReadModel(const store::Object& object) const;
  void NoteReadable(const api::Key& key, const Result<api::Model>& model);
  Look Carry(const api::Model& model, const rollout::Decision& decision, const rollout::Observed& observed,
             const std::vector<KnownNode>& nodes);
  Looked FinishModel(const api::Model& model, const rollout::Decision& decision, const rollout::Observed& observed,
                     const std::vector<KnownNode>& nodes, const Status& written);
  void TakeEvidence(const api::Model& model, const rollout::Decision& decision, const rollout::Observed& observed);
  void Remember(const api::Key& key, const api::Model& model, rollout::Placement placement,
                const std::vector<KnownNode>& nodes);
  void RemoveModel(const api::Key& key);
  std::string ConflictOf(const api::Key& key, const ModelMemory& memory) const;
  Result<std::optional<Refusal>> RefusalByFleet(const api::Model& model, const std::string& fleet) const;
  rollout::Observed Observe(const api::Model& model, const ModelMemory& memory, const std::vector<KnownNode>& nodes);
  void Send(const api::Key& key, const plan::SendModel& send, const std::string& fleet);
  std::set<std::string> NodesLeaving(const std::string& fleet) const;
  std::vector<plan::NodeHolds> HoldsOf(const std::string& fleet, const std::vector<KnownNode>& nodes,
                                       const std::string& served_name) const;
  void ReportProblems(const api::Model& model, const std::string& conflict, const std::optional<Refusal>& refusal,
                      api::ModelStatus& status) const;

  // fleet.cc
  Result<Look> BeginFleet(const api::Key& key);
  Looked RemoveFleet(const std::string& fleet);
  api::AutoscaleStatus Autoscale(const api::ServingFleet& object, const std::vector<KnownNode>& nodes);
  void TellNodes(const api::ServingFleet& object, const std::vector<KnownNode>& nodes);
  std::optional<control::DesiredState> SnapshotFor(const api::ServingFleet& object, const nodes::NodeView& view) const;
  FleetSeen FleetSeenOf(const api::ServingFleet& object, const std::vector<KnownNode>& nodes,
                        const Result<fleet::Addresses>& addresses, const Status& scaled) const;
  void ForgetGoneNodes(const std::string& fleet);
  void LookAtModels(const api::ServingFleet& object, const std::vector<KnownNode>& nodes);
  void WriteTargets();

  std::vector<KnownNode> KnownNodes(const std::string& fleet);
  bool IsWaitingForNodes(const std::string& fleet, const std::vector<KnownNode>& nodes);
  void LearnModels();
  void Tell(const std::vector<Event>& events) const;

  const Deps deps_;
  const Options options_;
  const MonotonicPoint began_;
  NodeMemory memory_;
  EvidenceBook evidence_;
  NewsBook news_;
  std::map<std::string, std::string> fleets_seen_;  // Uid and generation of the object, by fleet.
  bool learned_ = false;
  std::map<api::Key, ModelMemory> models_;
  std::map<api::Key, std::string> unreadable_;            // Models that are there and cannot be read, and why.
  std::map<std::string, std::set<std::string>> awaited_;  // Nodes that ran before us and said nothing yet, by fleet.
  std::map<std::string, std::pair<metrics::Query, std::unique_ptr<metrics::Source>>> sources_;
  std::string targets_written_;
};

}  // namespace longshore::reconcile
