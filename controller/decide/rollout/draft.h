// A decision under construction: the status as it changes, and helpers that the phases share. Internal to rollout/.
#pragma once

#include <string>
#include <vector>

#include "controller/decide/rollout/types.h"

namespace longshore::rollout {

class Draft {
 public:
  Draft(const api::Model& model, const Observed& observed, TimePoint now);

  const api::ModelSpec& spec() const { return model_.spec; }
  const api::Rollout& policy() const { return model_.spec.rollout; }
  const Observed& observed() const { return observed_; }
  const api::ModelStatus& before() const { return model_.status; }
  // Whether the decision leaves the stable version, the phase and the observed generation as they were.
  bool KeepsRoutes() const;
  int64_t generation() const { return model_.metadata.generation; }
  const std::string& uid() const { return model_.metadata.uid; }
  TimePoint now() const { return now_; }
  api::ModelStatus& status() { return status_; }
  const api::ModelStatus& status() const { return status_; }
  api::RolloutStatus& rollout() { return status_.rollout; }
  const std::vector<Event>& events() const { return events_; }

  // The wanted version; nullopt if the spec names none and the latest is unknown.
  std::optional<int64_t> Target() const;
  // The nodes that report the model and are not draining or departing, ordered by name.
  const std::vector<const NodeSeen*>& nodes() const { return nodes_; }
  // Number of nodes of the fleet that are not draining or departing.
  int NodesCount() const { return static_cast<int>(fleet_->names.size()); }
  std::string WhyNoNodes() const;  // Requires: NodesCount() == 0.
  // The time until a fleet that does not exist counts as a mistake; nullopt if the fleet exists. Until then it may be
  // applied after the model.
  std::optional<Duration> FleetIsMissedIn() const;
  std::vector<std::string> NodesIn(int64_t version, NodeState state) const;
  // The nodes that can answer with the version: those on which it is ready, or if there are none, the departing and
  // draining ones on which it is.
  std::vector<std::string> Answering(int64_t version) const;
  // The departing nodes on which the version is ready.
  std::vector<std::string> ReadyOnDeparting(int64_t version) const;
  int ReadyNodes(int64_t version) const { return static_cast<int>(NodesIn(version, NodeState::kReady).size()); }
  // The messages of nodes on which a version is not ready: "node a: no directory of version 2 in /m". "" if there are
  // none. The length is limited as in api::JoinSentences.
  std::string ReportsOn(int64_t version) const;
  // The same as a suffix for a sentence: with "; " before it, unless it is "".
  std::string ReportsFor(int64_t version) const;
  // Chooses `count` nodes for a version: first nodes that have it already, so that nothing moves without need; then,
  // for a candidate, nodes that have stable; then the nodes nearest to the model by hash, which spreads models over the
  // nodes. Leaves out nodes on which the version fails or does not fit into the memory. The former are then added to
  // the result, and the latter too while the version is ready on fewer than `count` nodes: a node reports on a version
  // only while it should hold it, and without its report it would be chosen again.
  std::vector<std::string> Choose(int64_t version, int count) const;
  // Number of nodes for the stable version: all, or spec.replicas.
  int StableNodes() const;
  // The same number once the fleet has all nodes that it should have.
  int WantedNodes() const;
  // Whether the present phase or step has waited longer than the progress deadline.
  bool IsAfterDeadline() const { return now_ - status_.rollout.step_started_at > policy().progress_deadline; }
  // How many nodes must hold the candidate before it may get this weight: that share of StableNodes(), at least one.
  int NodesFor(double weight_percent) const { return ShareOf(StableNodes(), weight_percent); }
  // The same share, but of the nodes on which stable is ready now. Used for a candidate that already has the weight.
  int NodesForNow(double weight_percent) const { return ShareOf(ReadyNodes(status_.rollout.stable), weight_percent); }

  // Why the source of the spec cannot be used, or its archive is not on all nodes that should have it, or its folder
  // cannot contain versions; nullopt if there is no such problem.
  struct SourceProblem {
    std::string reason;          // "Fetching", "FetchFailed", "OtherSource", "WrongFolder".
    std::string message;         // Names up to kNodesNamedMax nodes.
    bool is_on_no_node = false;  // Whether no node has the archive or can use the folder.
  };
  static constexpr size_t kNodesNamedMax = 3;
  std::optional<SourceProblem> FindSourceProblem() const;

  // Returns nullptr if the version may be tried: it has not failed, the generation or its files have changed since (the
  // files count unless a person ended its rollout), or it lacked memory and there may be enough now (see HasMoreRoom).
  const api::FailedVersion* FailureOf(int64_t version) const;
  // Whether the files of the version have changed since it failed, and a person did not stop it.
  bool HasOtherFiles(const api::FailedVersion& failed) const;
  // The nodes that go on waiting for memory after a rollback for lack of it, and those that try to load the candidate
  // again.
  std::vector<std::string> NodesThatAwaitMemory() const;
  // Whether the version is placed because a label names it.
  bool IsLabelled(int64_t version) const;
  // Marks the version as failed. FailureOf decides when it may be tried again.
  void Remember(int64_t version, const std::string& reason, const std::string& message);
  void Forget(int64_t version);

  // Adds an entry to the history and an event, for the candidate or for `version`.
  void Record(const std::string& what, const std::string& message, bool warning = false);
  void RecordOf(int64_t version, const std::string& what, const std::string& message, bool warning);
  // If `reason` is "", sets an existing condition to True and adds none; otherwise sets or adds the condition as False
  // with the reason.
  void SetProblemCondition(const std::string& type, const std::string& reason, const std::string& message);
  void SetPhase(api::RolloutPhase phase);
  // Ends the rollout and gives all weight back to stable. `remember`: mark the version as failed.
  void RollBack(const std::string& reason, const std::string& message, bool remember);

 private:
  std::optional<SourceProblem> ProblemOfArchive() const;
  std::optional<SourceProblem> ProblemOfFolder() const;
  // Whether fewer nodes lack memory for the candidate than when its rollout ended for this reason. A node that restarts
  // or loads also does not report the lack for a moment.
  bool FewerLackMemory() const;
  // Whether a node that lacked memory for the candidate has got it, or no node lacks it any more, because these nodes
  // have left the fleet or have restarted.
  bool HasMoreRoom() const;
  static int ShareOf(int nodes, double percent);

  const api::Model& model_;
  const Observed& observed_;
  const TimePoint now_;
  api::ModelStatus status_;
  std::vector<const NodeSeen*> nodes_;
  std::shared_ptr<const NodeNames> fleet_;
  std::vector<Event> events_;
};

// Executes the commands in the order of their arrival, and answers each of them once. A command that was given before
// an abort or an undo is not executed but superseded. Stops after an undo that changed the stable version: the other
// commands are for the next decision.
void TakeCommands(Draft& draft);

// Sets the conditions, node summary, pinned digests, accepted commands and observed generation.
void Describe(Draft& draft);

Placement PlacementOf(Draft& draft);

}  // namespace longshore::rollout
