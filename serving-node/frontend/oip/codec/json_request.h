// The body of a REST inference request: JSON, which binary tensors may follow.
//
//   {"id": "7", "inputs": [{"name": "x", "datatype": "FP32", "shape": [3, 1], "data": [1, 2, 5]}]}
//
// An input with the parameter "binary_data_size" has no "data": its elements are that many of the bytes after the JSON,
// in the order of the inputs (binary tensor data extension).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "serving-node/frontend/oip/codec/infer.h"

namespace longshore::frontend::oip::codec {

// Reads the body into the request, whose model and version are set. `json_bytes` is the header
// inference-header-content-length: the size of the JSON; nullopt if the whole body is JSON.
//
// Numbers are exact, or InvalidArgument; a number for FP32 is rounded as in TensorFlow Serving's REST API. The nesting
// of "data" is ignored. InvalidArgument if the body is not valid; ResourceExhausted if the inputs have more than
// elements_max elements together. Both are found before memory for the elements is allocated.
Status ReadBody(std::string_view body, std::optional<size_t> json_bytes, int64_t elements_max, InferRequest* request);

}  // namespace longshore::frontend::oip::codec
