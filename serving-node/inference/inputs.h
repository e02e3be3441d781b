// Converts a client's request to a run request and checks it against the signature, with TensorFlow Serving's error
// texts.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/budget.h"
#include "common/base/error.h"
#include "serving-node/engine/engine.h"
#include "serving-node/inference/request.h"
#include "serving-node/tensor/proto.h"
#include "tensorflow/saved_model.pb.h"

namespace longshore::inference {

using engine::Signatures;

// Returns FailedPrecondition for an unknown signature; InvalidArgument if the names of inputs or outputs differ from
// those of the signature, and the errors of Request::ReadInputs. Does not check types and shapes, because the engine
// does.
Result<engine::RunRequest> ToRunRequest(const Request& request, const Signatures& signatures,
                                        int64_t elements_max = Budget().elements_max,
                                        size_t filled_bytes_max = tensor::kFilledBytesMaxForRequests);

}  // namespace longshore::inference
