// The phases of a rollout, each as what it does to a draft. Internal to rollout/.
#pragma once

#include <optional>
#include <string>

#include "controller/rollout/draft.h"

namespace longshore::rollout {

// Whether the candidate goes to all at once: it is the first version, or its strategy has no steps.
bool SkipsSteps(const Draft& draft, const api::RolloutStatus& rollout);
bool CarriesWeight(const api::RolloutStatus& rollout);
// The weight of the current step; brings a step that the spec has lost back into it.
double StepWeight(Draft& draft);

// Adds the windows to the analysis when it is time to, and judges. True when they were used.
bool UseEvidence(Draft& draft);
// kStep and kPaused: gives weight, waits, pauses, goes on or back.
void RunStep(Draft& draft);
// Whether a person wants nothing to go on; says so in the status. For phases that are not steps.
bool IsHeld(Draft& draft);
// kPromoting: waits until all nodes have the candidate.
void FinishPromotion(Draft& draft);

void Promote(Draft& draft);
// While the rollout waits for nodes: gives up after the progress deadline, saying what they said last.
void CheckDeadline(Draft& draft, const std::string& waiting_for);

// What a node says of a version that ends its being tried.
struct Failure {
  std::string reason;
  std::string message;  // Names the node.
};
std::optional<Failure> FailureOnANode(const Draft& draft, int64_t version);

// A labelled version that failed, and that no node has or comes to have, is remembered as failed. While one has it, it
// stays where it is.
void FailLabelled(Draft& draft);
// Condition LabelsServed, when there are labels.
void DescribeLabels(Draft& draft);

}  // namespace longshore::rollout
