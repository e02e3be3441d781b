// ModelInferRequest and ModelInferResponse of the gRPC service.
#pragma once

#include <cstdint>

#include "common/base/error.h"
#include "inference/service.pb.h"
#include "serving-node/frontend/oip/codec/infer.h"

namespace longshore::frontend::oip::codec {

// Reads a request; frees the tensors of the message one after the other, so that large ones are not held twice.
// InvalidArgument if a tensor or a parameter is not valid, or uses shared memory; ResourceExhausted if the inputs have
// more than elements_max elements together.
Result<InferRequest> FromProto(::inference::ModelInferRequest message, int64_t elements_max);

// Returns whether the request asks for a mark on the last answer to it, also if the request is not valid.
bool AsksForFinalResponse(const ::inference::ModelInferRequest& message);

// Writes an answer, with raw_output_contents.
::inference::ModelInferResponse ToProto(const InferAnswer& answer);

}  // namespace longshore::frontend::oip::codec
