// What a change of peers makes of the peers that a node knows.
#pragma once

#include "common/error.h"
#include "longshore/control.pb.h"

namespace longshore {

// They stay ordered by name. InvalidArgument, and no change, when a peer has no name or is in the change twice.
Status ApplyPeers(const control::PeersChange& change, control::FleetState* fleet);

}  // namespace longshore
