// Texts about the phases in which a candidate has no weight: Shadow and Preview.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "controller/api/types.h"

namespace longshore::cli::text {

// What comes before the steps, or before the promotion: "shadow for 10 min on 10 % of the old version's requests -> ".
// "" if the strategy has no such phase.
std::string PhaseText(const api::Rollout& rollout);
// How people can try the candidate: "Requests with the header x-try or for the label preview get version 2. "; ""
// unless the rollout is in the phase Preview.
std::string HowToTry(const api::RolloutStatus& status, const api::Preview& preview);
// Why a rollout in such a phase waits. Requires: rollout.paused_reason is "".
std::string WaitInPhase(const api::Model& model, TimePoint now);
// Lines for a plan: what is compared and what people can try. "" if the strategy has no such phase.
std::string PhaseLines(const api::Model& model);
// What the rules of the last rollout have found, one line for each rule; "" if it has no rules.
std::string OutputsText(const api::RolloutStatus& rollout);
// How many inputs of the last rollout ran on both versions, and how many more should have, with the reasons why they
// did not; "" if there are none of either kind.
std::string PairsText(const api::RolloutStatus& rollout);

}  // namespace longshore::cli::text
