// What a node without a state asks its peers for, when no controller answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "longshore/control.pb.h"
#include "serving-node/routing/forwarder.h"

namespace longshore::control {

inline constexpr size_t kPeersAskedMax = 64;

// The state of the highest (epoch, revision) among the peers that answer; nullopt when none has one. Peers of another
// fleet do not answer. Blocks for a few seconds at most. `targets` are gRPC targets; "unix:/dir/*/peer.sock" is every
// socket that the pattern finds.
std::optional<DesiredState> AskPeersForState(const std::vector<std::string>& targets, const std::string& fleet,
                                             routing::Forwarder& forwarder);

}  // namespace longshore::control
