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
  Duration unwritten_max = std::chrono::seconds(1);      // Before what a Model's first rollout does is written down.
  // Before more evidence of a step is written down where nothing follows from it: as long as the step had lasted when
  // evidence was last written, within these two. 0: always at once.
  Duration evidence_unwritten_min{0};
  Duration evidence_unwritten_max = std::chrono::seconds(60);  // Not below the least.
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
//
// A look costs what has changed, not what there is: a Model's look goes to the nodes that speak of it or should hear of
// it, a fleet's look to the nodes that said something new, and to the Models that these concern.
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
  // What was decided and is not written down yet: of a Model's first rollout, where what is over in a moment is written
  // once, and whoever decides from the stored status comes to the same; of a step, where nothing follows from more
  // evidence, and whoever decides from the stored status has less of it.
  struct Unwritten {
    bool GoesOn(const api::Model& model) const;

    std::string uid;
    int64_t generation = 0;
    api::ModelStatus from;  // As stored, without a command.
    api::ModelStatus status;
    std::vector<rollout::Event> events;
    MonotonicPoint since;
  };

  // What is remembered of a model between two looks. There are many.
  struct ModelMemory {
    std::string fleet{};  // "namespace/name".
    std::string served_name{};
    bool refused = false;     // Its fleet does not take it, or another model of the fleet has its served name.
    bool has_stable = false;  // As decided last, as is:
    bool serves = false;      // Has a stable version, or is on its way to one.
    std::optional<Duration> latency_target{};
    double latency_quantile = 0;
    std::optional<plan::Blueprint> blueprint{};  // What nodes should hold of it.
    std::set<std::string> concerned{};           // Those that should hear of it.
    std::unique_ptr<Unwritten> unwritten{};
  };

  // What is remembered of a fleet, be its object there or not.
  struct FleetMemory {
    explicit FleetMemory(Duration patience) : book(patience) {}

    std::optional<Result<api::ServingFleet>> object{};  // As read last; NotFound where it is not there.
    std::string object_seen{};                          // Its uid and generation when its Models were told of it.
    std::set<std::string> awaited{};                    // Nodes that ran before us and said nothing yet.
    FleetBook book;
    bool has_looked = false;                              // At its nodes.
    News news{};                                          // That its Models were not told of.
    std::map<std::string, std::set<api::Key>> models{};   // By served name, refused ones too.
    std::set<api::Key> elastic{};                         // Those of them for which every node counts.
    std::map<std::string, std::set<api::Key>> of_node{};  // That each node should hear of.
    // That have to be decided with this node in sight before it gets its snapshot, which would take them from it.
    std::map<std::string, std::set<api::Key>> undecided{};
    std::shared_ptr<const nodes::FleetPart> part{};  // What its nodes should hold of it, with:
    std::shared_ptr<const rollout::NodeNames> peers = rollout::MakeNodeNames({});
    MonotonicPoint part_at{};
    MonotonicPoint status_at{};  // When its status was last written.
    MonotonicPoint looked_at{};
    Duration look_took{0};
  };

  // model.cc
  Result<Look> BeginModel(const api::Key& key);
  Result<api::Model> ReadModel(const store::Object& object) const;
  void NoteReadable(const api::Key& key, const Result<api::Model>& model);
  ModelMemory& MemoryOf(const api::Model& model, bool refused);
  static void NoteModel(const api::Model& model, ModelMemory& memory);
  Look Carry(const api::Model& model, const rollout::Decision& decision, const rollout::Observed& observed);
  Duration MayWaitFor(const api::Model& model, const rollout::Decision& decision) const;
  Look Postpone(const api::Model& model, const rollout::Decision& decision, const rollout::Observed& observed,
                Duration at_most);
  Looked FinishModel(const api::Model& model, const rollout::Decision& decision, const rollout::Observed& observed,
                     const Status& written);
  void TakeEvidence(const api::Model& model, const rollout::Decision& decision, const rollout::Observed& observed);
  void Remember(const api::Key& key, const api::Model& model, const rollout::Placement& placement);
  void SetConcerned(const api::Key& key, ModelMemory& memory, std::set<std::string> nodes);
  void RemoveModel(const api::Key& key);
  std::string ConflictOf(const api::Key& key, const ModelMemory& memory) const;
  Result<std::optional<Refusal>> RefusalByFleet(const api::Model& model, const std::string& fleet);
  rollout::Observed Observe(const api::Model& model, const ModelMemory& memory) const;
  void Send(const api::Key& key, const plan::SendModel& send, const std::string& fleet);
  std::vector<plan::NodeHolds> HoldsOf(const ModelMemory& memory, const std::set<std::string>& concerned) const;
  void ReportProblems(const api::Model& model, const std::string& conflict, const std::optional<Refusal>& refusal,
                      api::ModelStatus& status);

  // fleet.cc
  Result<Look> BeginFleet(const api::Key& key);
  Result<Look> LookAtFleet(const api::Key& key, FleetMemory& memory);
  Looked RemoveFleet(const std::string& fleet);
  void LookAtNodes(const std::string& fleet, FleetMemory& memory, const std::vector<fleet::NodeInfo>& machines);
  void AwaitDecisions(FleetMemory& memory, const std::string& node);
  api::AutoscaleStatus Autoscale(const api::ServingFleet& object, const FleetMemory& memory);
  void MakePart(const api::ServingFleet& object, FleetMemory& memory);
  void MoveHomes(const api::Key& key, ModelMemory& model, const rollout::NodeNames& peers);
  void TellNodes(const api::ServingFleet& object, FleetMemory& memory);
  std::optional<control::DesiredState> SnapshotFor(const api::ServingFleet& object, const FleetMemory& memory,
                                                   const nodes::NodeView& view) const;
  FleetSeen FleetSeenOf(const api::ServingFleet& object, const std::vector<fleet::NodeInfo>& machines,
                        const Result<fleet::Addresses>& addresses, const Status& scaled) const;
  void ForgetGoneNodes(const std::string& fleet, const std::vector<nodes::ViewPtr>& views,
                       const std::vector<fleet::NodeInfo>& machines);
  void LookAtModels(FleetMemory& memory, const std::string& object_seen);
  void LookAtAll(const std::set<api::Key>& models) const;
  void WriteTargets();

  FleetMemory& FleetOf(const std::string& fleet);
  const Result<api::ServingFleet>& ObjectOf(const std::string& fleet);
  Result<api::ServingFleet> ReadFleet(const std::string& fleet) const;
  bool IsWaitingForNodes(FleetMemory& memory, const std::vector<fleet::NodeInfo>& machines) const;
  void LearnModels();
  void Tell(const std::vector<Event>& events) const;

  const Deps deps_;
  const Options options_;
  const MonotonicPoint began_;
  EvidenceBook evidence_;
  bool learned_ = false;
  std::map<std::string, FleetMemory> fleets_;
  std::map<api::Key, ModelMemory> models_;
  std::map<api::Key, std::string> unreadable_;  // Models that are there and cannot be read, and why.
  std::map<std::string, std::pair<metrics::Query, std::unique_ptr<metrics::Source>>> sources_;
  std::string targets_written_;
};

}  // namespace longshore::reconcile
