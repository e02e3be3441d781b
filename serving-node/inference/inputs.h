// Converts a client's request to a run request and checks it against the signature, with TensorFlow Serving's error
// texts.
#pragma once

#include <string>

#include "common/base/budget.h"
#include "common/base/error.h"
#include "serving-node/engine/engine.h"
#include "serving-node/tensor/proto.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::inference {

using Signatures = google::protobuf::Map<std::string, tensorflow::SignatureDef>;

// Returns FailedPrecondition for an unknown signature; InvalidArgument if the names of inputs or outputs differ from
// those of the signature, if a tensor cannot be parsed, or if a tensor repeats its last value and thus fills more than
// filled_bytes_max bytes; ResourceExhausted if all inputs together have more than elements_max elements. Does not check
// types and shapes, because the engine does.
Result<engine::RunRequest> ToRunRequest(const tensorflow::serving::PredictRequest& request,
                                        const Signatures& signatures, int64_t elements_max = Budget().elements_max,
                                        size_t filled_bytes_max = tensor::kFilledBytesMaxForRequests);

}  // namespace longshore::inference
