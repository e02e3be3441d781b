// Whether the nodes have room for pairs. Internal to rollout/.
#pragma once

#include "controller/decide/rollout/draft.h"

namespace longshore::rollout {

// How long all sampled requests must have been dropped before the condition says so.
inline constexpr Duration kWithoutPairsMax = std::chrono::minutes(5);
// Fewer dropped requests say nothing, nor do older ones: perhaps there are hardly any requests.
inline constexpr int64_t kDropsMin = 20;
inline constexpr Duration kDropsAgeMax = std::chrono::minutes(1);

// Sets the condition PairsHaveRoom while pairs judge the candidate. It is False with the reason
//   NeverIdle     if for kWithoutPairsMax no sampled request became a pair, mostly because no run slot was idle
//   BudgetSpent   if that was mostly because the share of the slots for pairs was used up
//   OneRunSlot    if, in a phase without weight, a node that holds both versions has one run slot: a pair delays users
// Its message changes only when one of these changes, because a status is written for each change.
void DescribePairs(Draft& draft);

}  // namespace longshore::rollout
