// A request made up from a signature, to run a version that brings no recorded ones.
#pragma once

#include <string>

#include "common/error.h"
#include "serving-node/engine/engine.h"

namespace longshore::models {

inline constexpr size_t kSyntheticBytesMax = size_t{64} << 20;  // Per input.

// Zeros, false or empty strings for every input that has no default; `rows` where the signature leaves the first
// dimension free, 1 for other free dimensions. FailedPrecondition naming the input that cannot be made up: of unknown
// rank, a sparse one, of a type without values, or too large; and for a signature that no client calls.
Result<engine::RunRequest> SyntheticRequest(const std::string& name, const tensorflow::SignatureDef& signature,
                                            int rows);

}  // namespace longshore::models
