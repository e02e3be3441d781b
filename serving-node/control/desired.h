// Decides which messages of a controller change the desired state, and computes the new state. Pure.
#pragma once

#include <optional>
#include <string>

#include "common/base/error.h"
#include "longshore/control.pb.h"

namespace longshore::control {

// Returns the state after `message`. `fleet` is the node's own fleet. Errors, which leave the held state unchanged:
// Aborted if (epoch, revision) is not above the held one: the sender is an old leader or repeats a message. (A snapshot
// may repeat the held number, because it replaces everything.) FailedPrecondition for a change before the first
// snapshot, or for another fleet; InvalidArgument for an inconsistent message: weights that add up to neither 0 nor
// 10000, duplicate versions, or a peer that is both added and removed.
Result<DesiredState> ApplyMessage(const std::optional<DesiredState>& held, const FromController& message,
                                  const std::string& fleet);

// Converts a peer's state for a node without a state: it keeps the routes, but loads stable versions only, because a
// candidate must be loaded on a controller's order. Its revision is 0, so that any message of a controller is newer.
// FailedPrecondition for the state of another fleet.
Result<DesiredState> FromPeer(DesiredState of_peer, const std::string& fleet);

}  // namespace longshore::control
