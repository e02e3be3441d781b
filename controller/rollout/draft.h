// One decision in the making: the status as it changes, and the words for what is asked of it again and again.
// Internal to rollout/.
#pragma once

#include <string>
#include <vector>

#include "controller/rollout/rollout.h"

namespace longshore::rollout {

class Draft {
 public:
  Draft(const api::Model& model, const Observed& observed, TimePoint now);

  const api::ModelSpec& spec() const { return model_.spec; }
  const api::Rollout& policy() const { return model_.spec.rollout; }
  const Observed& observed() const { return observed_; }
  int64_t generation() const { return model_.metadata.generation; }
  const std::string& uid() const { return model_.metadata.uid; }
  TimePoint now() const { return now_; }
  api::ModelStatus& status() { return status_; }
  const api::ModelStatus& status() const { return status_; }
  api::RolloutStatus& rollout() { return status_.rollout; }
  const std::vector<Event>& events() const { return events_; }

  // What the spec asks for; nullopt while "latest" is not known.
  std::optional<int64_t> Target() const;
  // Nodes that count and say something of the model: those not draining, ordered by name.
  const std::vector<const NodeSeen*>& nodes() const { return nodes_; }
  // Nodes that count.
  int NodesCount() const { return static_cast<int>(fleet_->names.size()); }
  std::vector<std::string> NodesIn(int64_t version, NodeState state) const;
  int ReadyNodes(int64_t version) const { return static_cast<int>(NodesIn(version, NodeState::kReady).size()); }
  // What the nodes say about the candidate while they have it not ready: "; node a: no directory of version 2 in /m".
  std::string WordsOfNodes() const;
  // Where a version should be on `count` nodes: those that have it already first, so that nothing moves without need;
  // for a candidate those that have stable; then those nearest to the model, so that models spread over the nodes.
  std::vector<std::string> Choose(int64_t version, int count) const;
  // Nodes for the stable version: all, or spec.replicas.
  int StableNodes() const;
  // How many nodes must hold the candidate before it may have this weight: its share of as many as stable should have,
  // at least one.
  int NodesFor(double weight_percent) const { return ShareOf(StableNodes(), weight_percent); }
  // Of as many as stable is ready on now: what a candidate that has the weight already must not be without.
  int NodesForNow(double weight_percent) const { return ShareOf(ReadyNodes(status_.rollout.stable), weight_percent); }

  // What keeps the spec's archive from being on all nodes that should have it; nullopt: nothing, or it is a folder.
  struct SourceTrouble {
    std::string reason;    // "Fetching", "FetchFailed", "OtherSource".
    std::string message;   // Names up to kNodesNamedMax nodes.
    bool nowhere = false;  // No node has it.
  };
  static constexpr int kNodesNamedMax = 3;
  std::optional<SourceTrouble> TroubleOfSource() const;

  const api::FailedVersion* FailureOf(int64_t version) const;
  // Keeps the version from being tried again in this generation.
  void Remember(int64_t version, const std::string& reason, const std::string& message);
  void Forget(int64_t version);

  // A line of history, of the candidate or of another version, and its event.
  void Record(const std::string& what, const std::string& message, bool warning = false);
  void RecordOf(int64_t version, const std::string& what, const std::string& message, bool warning);
  // A condition that is there since the first trouble: False with the reason, True once there is none.
  void Trouble(const std::string& type, const std::string& reason, const std::string& message);
  void SetPhase(api::RolloutPhase phase);
  // Ends the rollout with the weight back at stable; `remember` keeps the version from being tried again.
  void RollBack(const std::string& reason, const std::string& message, bool remember);

 private:
  static int ShareOf(int nodes, double percent);

  const api::Model& model_;
  const Observed& observed_;
  const TimePoint now_;
  api::ModelStatus status_;
  std::vector<const NodeSeen*> nodes_;
  std::shared_ptr<const NodeNames> fleet_;
  std::vector<Event> events_;
};

// Takes the waiting command, if there is one, and says in the status what became of it.
void TakeCommand(Draft& draft);

// Conditions, node summary, pinned digests, observed generation.
void Describe(Draft& draft);

Placement PlacementOf(Draft& draft);

}  // namespace longshore::rollout
