#include "controller/decide/rollout/warm.h"

#include <algorithm>

namespace longshore::rollout {
namespace {

using api::RolloutPhase;

// A version that an undo has left stays loaded at least this long, even without keepWarm: the nodes are told before the
// status is written, and until it is written the version may have to serve again.
constexpr Duration kWarmAfterUndoMin = std::chrono::seconds(10);

// Requires that the rollout has undone its candidate.
Warm AfterUndo(const api::Rollout& policy, const api::RolloutStatus& rollout) {
  const TimePoint needed_until = rollout.step_started_at + kWarmAfterUndoMin;
  return {rollout.candidate, std::max(needed_until, rollout.step_started_at + policy.keep_warm), needed_until};
}

// The version that was warm before the rollout began which is under way or was rolled back.
std::optional<Warm> FromBefore(const api::Rollout& policy, const api::ModelStatus& status) {
  const std::optional<int64_t> previous = PreviousOf(status);
  const api::HistoryEntry* began = BeganToServe(status);
  if (!previous || began == nullptr || *previous == status.rollout.candidate) return std::nullopt;
  return Warm{*previous, began->at + policy.keep_warm};
}

std::optional<Warm> PossiblyWarm(const api::Rollout& policy, const api::ModelStatus& status) {
  const api::RolloutStatus& rollout = status.rollout;
  if (rollout.phase == RolloutPhase::kCompleted)
    return Warm{rollout.stable, rollout.step_started_at + policy.keep_warm};
  if (rollout.phase == RolloutPhase::kRolledBack && rollout.verdict.reason == kUndone)
    return AfterUndo(policy, rollout);
  return FromBefore(policy, status);
}

}  // namespace

std::optional<Warm> WarmOf(const api::Rollout& policy, const api::ModelStatus& status, TimePoint now) {
  const std::optional<Warm> warm = PossiblyWarm(policy, status);
  const bool is_warm = warm && warm->version != 0 && warm->version != status.stable_version && now < warm->until;
  return is_warm ? warm : std::nullopt;
}

bool IsAboutServing(const api::HistoryEntry& entry) { return entry.what == "Promoted" || entry.what == kUndone; }

std::optional<int64_t> PreviousOf(const api::ModelStatus& status) {
  const int64_t stable = status.stable_version;
  const api::RolloutStatus& rollout = status.rollout;
  if (rollout.phase == RolloutPhase::kCompleted && rollout.stable != stable && rollout.stable != 0)
    return rollout.stable;
  const auto served = std::ranges::find_if(
      status.history.rbegin(), status.history.rend(),
      [&](const api::HistoryEntry& entry) { return IsAboutServing(entry) && entry.version != stable; });
  return served == status.history.rend() ? std::nullopt : std::optional(served->version);
}

const api::HistoryEntry* BeganToServe(const api::ModelStatus& status) {
  return BeganToServe(status, status.stable_version);
}

const api::HistoryEntry* BeganToServe(const api::ModelStatus& status, int64_t version) {
  const auto found = std::find_if(status.history.rbegin(), status.history.rend(), [&](const api::HistoryEntry& entry) {
    return entry.version == version && IsAboutServing(entry);
  });
  return found == status.history.rend() ? nullptr : &*found;
}

}  // namespace longshore::rollout
