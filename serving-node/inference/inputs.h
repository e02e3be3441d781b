// From a client's request to a run: checked against the signature, with TensorFlow Serving's texts where it is wrong.
#pragma once

#include <string>

#include "common/budget.h"
#include "common/error.h"
#include "serving-node/engine/engine.h"
#include "serving-node/tensor/proto.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::inference {

using Signatures = google::protobuf::Map<std::string, tensorflow::SignatureDef>;

// FailedPrecondition for an unknown signature; InvalidArgument when names of inputs or outputs differ from the
// signature's or a tensor cannot be read, which is also one that leaves out more than filled_bytes_max of its values;
// ResourceExhausted for more than elements_max elements in all. Types and shapes are the engine's to check.
Result<engine::RunRequest> ToRunRequest(const tensorflow::serving::PredictRequest& request,
                                        const Signatures& signatures, int64_t elements_max = Budget().elements_max,
                                        size_t filled_bytes_max = tensor::kFilledBytesOfRequests);

}  // namespace longshore::inference
