// Whether nodes route requests as the status says. Internal to rollout/, except for MustBeRouted.
#pragma once

#include <optional>
#include <string>

#include "controller/decide/rollout/draft.h"

namespace longshore::rollout {

// The reason of a condition that waits for it.
inline constexpr const char* kRouting = "Routing";

// Whether it matters if nodes route requests by this status already: the Model is not ready, or it is not as its spec
// wants it although no rollout is under way.
bool MustBeRouted(const api::ModelStatus& status);

// Whether a version has answered until now.
bool WasReady(const api::ModelStatus& before);

// Whether the nodes that must confirm it route requests as this decision wants. Nodes are told of a change after its
// status is stored, or a moment before.
bool IsRouted(const Draft& draft);

// The time until nodes that have not confirmed are not awaited any more: rollout.progressDeadline after the rollout has
// ended or the manifest has changed. nullopt: none is awaited. 0: they are late.
std::optional<Duration> RoutingIsLateIn(const Draft& draft);

// Which nodes do not route requests as the status says, as a suffix for a sentence.
std::string NotRoutedText(const Draft& draft);

}  // namespace longshore::rollout
