// Asks peers for the desired state. Used by a node without a state while no controller answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "longshore/control.pb.h"
#include "serving-node/routing/forwarder.h"

namespace longshore::control {

inline constexpr size_t kPeersAskedMax = 64;

// Returns the state with the highest (epoch, revision) among the peers that answer; nullopt if no peer has a state.
// Peers of another fleet do not answer. Blocks for a few seconds at most. `targets` are gRPC targets; a pattern such as
// "unix:/dir/*/peer.sock" stands for all sockets that match.
std::optional<DesiredState> AskPeersForState(const std::vector<std::string>& targets, const std::string& fleet,
                                             routing::Forwarder& forwarder);

}  // namespace longshore::control
