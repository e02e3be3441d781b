// Writes and reads PredictResponse, whose tensors may be large, without the copies of generated code.
#pragma once

#include "common/base/error.h"
#include "common/base/pieces.h"
#include "serving-node/engine/engine.h"
#include "serving-node/tensor/proto.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::inference {

// Returns the bytes of a PredictResponse. They refer to large tensors instead of copying them.
Pieces ResponseOf(const tensorflow::serving::ModelSpec& spec, const engine::TensorMap& outputs,
                  tensor::Encoding encoding);

// Reads the ModelSpec of a PredictResponse and skips its tensors. It is empty if the response has
// none or is malformed.
tensorflow::serving::ModelSpec SpecOf(const Pieces& response);

// Reads the tensors of a PredictResponse. Internal if it is malformed.
Result<engine::TensorMap> OutputsOf(const Pieces& response);

}  // namespace longshore::inference
