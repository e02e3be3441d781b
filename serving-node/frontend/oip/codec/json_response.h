// The body of a REST inference answer: JSON, which binary tensors may follow.
#pragma once

#include <optional>
#include <string>

#include "common/base/error.h"
#include "serving-node/frontend/oip/codec/infer.h"

namespace longshore::frontend::oip::codec {

struct InferBody {
  std::string bytes;
  std::optional<size_t> json_bytes;  // The size of the JSON; nullopt if no tensor follows it.
};

// Writes numbers as in TensorFlow Serving's REST API. Bytes of names that are not valid UTF-8 are replaced.
// InvalidArgument if JSON cannot represent an output, but bytes can: 16-bit floats, and BYTES that are not valid UTF-8.
Result<InferBody> ToBody(const InferAnswer& answer);

}  // namespace longshore::frontend::oip::codec
