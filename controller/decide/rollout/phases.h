// The phases of a rollout, each as a function that changes a draft. Internal to rollout/.
#pragma once

#include <optional>
#include <string>

#include "controller/decide/rollout/draft.h"
#include "controller/decide/rollout/warm.h"

namespace longshore::rollout {

// Starts a rollout of the version.
void Start(Draft& draft, int64_t candidate, const std::string& why = "");

// Whether the command undo began the rollout. False if the spec has changed since and asks for another version.
bool IsUndo(const Draft& draft);
// Marks the version as failed because the command undo replaced it by `to`.
void NoteUndo(Draft& draft, int64_t left, int64_t to);

// Whether the candidate gets all requests at once, because it is the first version, its strategy has no steps, or the
// command undo began the rollout.
bool SkipsSteps(const Draft& draft, const api::RolloutStatus& rollout);
bool CarriesWeight(const api::RolloutStatus& rollout);
// Returns the weight of the current step in percent. Lowers step_index to the last step if the spec has fewer steps
// now.
double StepWeight(Draft& draft);

// Whether measurements of the candidate are due: it has weight, or pairs are made of stable's requests.
bool GathersEvidence(const Draft& draft);
// Adds the windows to the analysis and judges the candidate, but only when this is due. Returns true if it used the
// windows.
bool UseEvidence(Draft& draft);
// Keeps what was counted while the candidate had no weight out of the tests of the requests that it gets now. The bins
// of users from that time become their known past, if the candidate has had no request yet.
void EndTimeWithoutWeight(Draft& draft);
// Begins the time, the count and the verdict of a step or of a phase without weight; the evidence so far stays.
void BeginJudging(Draft& draft);
// What the step, or the phase without weight, requires of the evidence.
api::Proof RequiredProof(const Draft& draft);
// Whether the minimum duration of the step, or of the phase without weight, is over. In a step, requires steps.
bool TimeIsOver(Draft& draft);
// Whether the spec wants the rollout to go on after its inconclusive verdict. A candidate that may be why the objective
// is missed never goes on without a person.
bool PromotesWithoutProof(const Draft& draft);
// Rolls back if the verdict requires it; returns true if it did.
bool FailedByEvidence(Draft& draft);
// Rolls back if the verdict is inconclusive and the spec requires it then; returns true if it did.
bool FailedWithoutProof(Draft& draft);

// Why the user wants the rollout to pause, in any phase; "" if the user does not want that.
std::string PauseWanted(Draft& draft);
// Stores the reason of the pause ("": no pause); returns true if it changed.
bool NotePause(Draft& draft, const std::string& reason);

// For kLoading: waits until enough nodes have the candidate for what follows.
void Load(Draft& draft);

// The phase that comes next while the candidate has no weight: kShadow, kPreview, or nullopt if it is to get weight.
std::optional<api::RolloutPhase> PhaseWithoutWeight(const Draft& draft);
void EnterWithoutWeight(Draft& draft, api::RolloutPhase phase);
// For kShadow and kPreview: waits, pauses, ends the phase or rolls back.
void RunWithoutWeight(Draft& draft);
// When a phase without weight ends by itself; nullopt if it does not.
std::optional<TimePoint> PromotesAt(const Draft& draft);
// Takes the weight from the candidate if the strategy, which has changed, gives it none before it is promoted; returns
// true if it did.
bool TookWeightBack(Draft& draft);

// Takes the weight from the candidate, or ends its phase without weight, if it is ready on no node, or on less than
// half of the nodes that it requires; returns true if it did. Half is enough, so that one restarting node does not move
// users back and forth.
bool LostItsNodes(Draft& draft);
// For kStep and kPaused: sets the weight, waits, pauses, advances or rolls back.
void RunStep(Draft& draft);
// Whether the user paused the rollout; stores this in the status. For phases in which nodes load the candidate. The
// time of a pause does not count towards the progress deadline.
bool IsHeld(Draft& draft);
// For kPromoting: waits until all nodes have the candidate.
void FinishPromotion(Draft& draft);

void Promote(Draft& draft);
// Rolls back if the rollout has waited for nodes longer than the progress deadline. The message contains the last
// reports of the nodes. The reason is kNotEnoughMemory if the candidate does not fit into the memory of a node.
void CheckDeadline(Draft& draft, const std::string& waiting_for);

// The reason of the condition Reconciling if nodes have been without the stable version for so long that they are not
// awaited any more.
inline constexpr const char* kNodesLate = "NodesLate";
// The time until the nodes that should have the stable version and are without it are not awaited any more; nullopt if
// no node is awaited: all that can have it have it, or a rollout is under way. 0: they are late. They get
// rollout.progressDeadline after a rollout has ended, the fleet has changed, or the first of them has lost the version.
std::optional<Duration> MissingNodesAreLateIn(const Draft& draft);

// Marks a labelled version as failed if it failed on a node and no other node serves or loads it. While another node
// does, the version keeps its placement.
void FailLabelled(Draft& draft);
// Sets the condition LabelsServed if the spec has labels.
void DescribeLabels(Draft& draft);
// Sets the condition RulesApplied if the spec has match rules and they do not work on a node that reports the model.
void DescribeRules(Draft& draft);

}  // namespace longshore::rollout
