// The phases of a rollout, each as a function that changes a draft. Internal to rollout/.
#pragma once

#include <optional>
#include <string>

#include "controller/decide/rollout/draft.h"

namespace longshore::rollout {

// The reason of a version that the command undo replaced.
inline constexpr const char* kUndone = "Undone";

// Starts a rollout of the version.
void Start(Draft& draft, int64_t candidate, const std::string& why = "");

// Whether the command undo began the rollout. False if the spec has changed since and asks for another version.
bool IsUndo(const Draft& draft);
// Marks the version as failed because the command undo replaced it by `to`.
void NoteUndo(Draft& draft, int64_t left, int64_t to);

// A version that served until another one replaced it, and that stays loaded.
struct Warm {
  int64_t version = 0;
  TimePoint until;
  TimePoint needed_until{};  // Until then it may have to serve again.
};
// Returns nullopt if there is none, or if its time is over.
std::optional<Warm> WarmOf(const Draft& draft);

// Whether the candidate gets all requests at once, because it is the first version, its strategy has no steps, or the
// command undo began the rollout.
bool SkipsSteps(const Draft& draft, const api::RolloutStatus& rollout);
bool CarriesWeight(const api::RolloutStatus& rollout);
// Returns the weight of the current step in percent. Lowers step_index to the last step if the spec has fewer steps
// now.
double StepWeight(Draft& draft);

// Adds the windows to the analysis and judges the candidate, but only when this is due. Returns true if it used the
// windows.
bool UseEvidence(Draft& draft);
// Takes the weight from the candidate if it is ready on no node, or on less than half of the nodes that the weight
// requires; returns true if it did. Half is enough, so that one restarting node does not move users back and forth.
bool LostItsNodes(Draft& draft);
// For kStep and kPaused: sets the weight, waits, pauses, advances or rolls back.
void RunStep(Draft& draft);
// Whether the user paused the rollout; stores this in the status. For all phases except kStep and kPaused. The time of
// a pause does not count towards the progress deadline.
bool IsHeld(Draft& draft);
// For kPromoting: waits until all nodes have the candidate.
void FinishPromotion(Draft& draft);

void Promote(Draft& draft);
// Rolls back if the rollout has waited for nodes longer than the progress deadline. The message contains the last
// reports of the nodes. The reason is kNotEnoughMemory if the candidate does not fit into the memory of a node.
void CheckDeadline(Draft& draft, const std::string& waiting_for);

// Marks a labelled version as failed if it failed on a node and no other node serves or loads it. While another node
// does, the version keeps its placement.
void FailLabelled(Draft& draft);
// Sets the condition LabelsServed if the spec has labels.
void DescribeLabels(Draft& draft);

}  // namespace longshore::rollout
