// Which messages of a controller change the desired state, and to what. Pure.
#pragma once

#include <optional>
#include <string>

#include "common/error.h"
#include "longshore/control.pb.h"

namespace longshore::control {

// Aborted when (epoch, revision) is not above what is held: the sender is an old leader or repeats itself. (A snapshot
// may repeat the held number, because it replaces everything.) FailedPrecondition for a change before any snapshot, or
// for another fleet; InvalidArgument when the message contradicts itself: weights that add up to neither 0 nor 10000,
// versions twice, a peer that both came and left. `fleet` is the node's own. A refused message changes nothing.
Result<DesiredState> ApplyMessage(const std::optional<DesiredState>& held, const FromController& message,
                                  const std::string& fleet);

// What a node without a state may take from a peer: the same routes, but no candidate is loaded here on a peer's word,
// and any message of that controller or a later one is newer. FailedPrecondition for the state of another fleet.
Result<DesiredState> FromPeer(DesiredState of_peer, const std::string& fleet);

}  // namespace longshore::control
