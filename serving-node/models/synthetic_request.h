// Generates a request from a signature, to warm up a version that has no recorded requests.
#pragma once

#include <string>

#include "common/base/error.h"
#include "serving-node/engine/engine.h"

namespace longshore::models {

inline constexpr size_t kSyntheticBytesMax = size_t{64} << 20;  // The limit for each input.

// Fills every input without a default with zeros, false or empty strings. An unknown first size becomes `rows`; other
// unknown sizes become 1. Returns FailedPrecondition, with the name of the input, if an input has unknown rank, is
// sparse, has an unsupported type or is too large.
Result<engine::RunRequest> SyntheticRequest(const std::string& name, const tensorflow::SignatureDef& signature,
                                            int rows);

}  // namespace longshore::models
