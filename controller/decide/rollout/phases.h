// The phases of a rollout, each as a function that changes a draft. Internal to rollout/.
#pragma once

#include <optional>
#include <string>

#include "controller/decide/rollout/draft.h"

namespace longshore::rollout {

// Whether the candidate gets all requests at once, because it is the first version or its strategy has no steps.
bool SkipsSteps(const Draft& draft, const api::RolloutStatus& rollout);
bool CarriesWeight(const api::RolloutStatus& rollout);
// The weight of the current step in percent. Limits step_index to the steps of the spec, which may have fewer now.
double StepWeight(Draft& draft);

// If it is time to, adds the windows to the analysis and judges. Returns true if the windows were used.
bool UseEvidence(Draft& draft);
// Takes the weight from the candidate if too few nodes are left that can answer for it; returns true if it did. Half of
// the nodes that the weight requires are enough to keep it, so that one restarting node does not move users back and
// forth.
bool LostItsNodes(Draft& draft);
// For kStep and kPaused: sets the weight, waits, pauses, advances or rolls back.
void RunStep(Draft& draft);
// Whether the user paused the rollout; stores this in the status. For phases that are not steps.
bool IsHeld(Draft& draft);
// For kPromoting: waits until all nodes have the candidate.
void FinishPromotion(Draft& draft);

void Promote(Draft& draft);
// Rolls back if the rollout has waited for nodes longer than the progress deadline, with the last reports of the nodes.
void CheckDeadline(Draft& draft, const std::string& waiting_for);

// A failure of a version on one node.
struct Failure {
  std::string reason;
  std::string message;  // Contains the name of the node.
};
std::optional<Failure> FailureOnANode(const Draft& draft, int64_t version);

// Marks a labelled version as failed if it failed on a node and no other node serves or loads it. While a node does, it
// keeps its placement.
void FailLabelled(Draft& draft);
// Sets the condition LabelsServed if the spec has labels.
void DescribeLabels(Draft& draft);

}  // namespace longshore::rollout
