// Checks that a candidate still accepts the requests that clients send to the stable version.
#pragma once

#include <string>

#include "serving-node/engine/engine.h"

namespace longshore::rehearsal {

using engine::Signatures;

// Returns why the candidate would reject a request that the stable version accepts; "" if it rejects none. Signatures,
// inputs and outputs must not be removed, types must not change, new inputs need a default, defaults must not be
// removed, and inputs must not accept fewer shapes. Example: `signature "serving_default": input "x" takes float [-1,3]
// where stable takes float [-1,2]`.
std::string SignatureChange(const Signatures& stable, const Signatures& candidate);

}  // namespace longshore::rehearsal
