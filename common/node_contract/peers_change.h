// Applies a change of peers to the list of peers that a node has.
#pragma once

#include "common/base/error.h"
#include "longshore/control.pb.h"

namespace longshore::node_contract {

// Applies the change and keeps the peers ordered by name. Returns InvalidArgument, and changes nothing, if a peer has
// no name or is in the change twice.
Status ApplyPeers(const control::PeersChange& change, control::FleetState* fleet);

}  // namespace longshore::node_contract
