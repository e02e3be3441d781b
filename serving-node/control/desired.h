// Decides which messages of a controller change the desired state, and computes the new state. The functions have no
// side effects.
#pragma once

#include <optional>
#include <string>

#include "common/base/error.h"
#include "longshore/control.pb.h"

namespace longshore::control {

// Returns the state after `message`. `fleet` is the node's own fleet. Errors:
// Aborted if the (epoch, revision) of the message is not above that of `held`, because the sender is an old leader or
// repeats a message. A snapshot may have the same (epoch, revision), because it replaces everything.
// FailedPrecondition for a change before the first snapshot, or for a message for another fleet.
// InvalidArgument for an inconsistent message, such as weights that add up to neither 0 nor 10000, a version that
// occurs twice, or a peer that is both added and removed. Match rules that this node cannot compile are no error,
// because they concern only one model: the router sends all requests of this model to stable, and the report says why.
Result<DesiredState> ApplyMessage(const std::optional<DesiredState>& held, const FromController& message,
                                  const std::string& fleet);

// Makes the first state of a node from the state of a peer. The new state keeps the routes, but loads stable versions
// only, because only a controller may order a node to load a candidate. Its revision is 0, so that any message of a
// controller is newer. Returns FailedPrecondition for the state of another fleet.
Result<DesiredState> FromPeer(DesiredState of_peer, const std::string& fleet);

}  // namespace longshore::control
