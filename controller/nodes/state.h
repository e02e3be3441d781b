// What a node holds after a message: the controller's copy of the node's own calculation. Pure.
#pragma once

#include <string>

#include "common/error.h"
#include "longshore/control.pb.h"

namespace longshore::nodes {

// Models stay ordered by served name. A DrainNode and a Heartbeat change nothing.
void ApplyMessage(const control::FromController& message, control::DesiredState& state);

// SHA-256 in hex of the deterministic serialization.
std::string Digest(const control::DesiredState& state);

// The model of this name, or nullptr.
const control::ModelState* FindModel(const control::DesiredState& state, const std::string& served_name);

}  // namespace longshore::nodes
