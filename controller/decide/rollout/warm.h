// The version that served until another one replaced it, and that stays loaded, so that an undo can return to it at
// once. It stays while a later rollout is under way and after that was rolled back.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/clock.h"
#include "controller/api/types.h"

namespace longshore::rollout {

// The reason of a version that the command undo replaced.
inline constexpr const char* kUndone = "Undone";

struct Warm {
  int64_t version = 0;
  TimePoint until;
  TimePoint needed_until{};  // Until then it may have to serve again.
};
// Returns nullopt if no version is warm: none served before, keepWarm is over, or the version is the candidate now.
std::optional<Warm> WarmOf(const api::Rollout& policy, const api::ModelStatus& status, TimePoint now);

// Whether the entry is about a version that got all requests: by a rollout, or by an undo.
bool IsAboutServing(const api::HistoryEntry& entry);

// The version that served before the stable one, to which the command undo returns; nullopt if none did.
std::optional<int64_t> PreviousOf(const api::ModelStatus& status);

// The entry of the history about when the stable version got all requests; nullptr if it is not known any more.
const api::HistoryEntry* BeganToServe(const api::ModelStatus& status);
// The same for any version that has served.
const api::HistoryEntry* BeganToServe(const api::ModelStatus& status, int64_t version);

}  // namespace longshore::rollout
