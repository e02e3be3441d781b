// Converts a MultiInference to one Predict that computes all its tasks (serving-node/engine/together.h), and back.
// Pure.
#pragma once

#include <optional>
#include <string>

#include "common/base/error.h"
#include "serving-node/engine/engine.h"
#include "serving-node/inference/inference.h"
#include "serving-node/inference/inputs.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::inference {

// Returns the request, or nullopt if the signatures of the tasks cannot run together. Errors are those of ToPredict for
// the first task that has one, and InvalidArgument for an unknown signature. Requires: CheckTasks accepts the request.
Result<std::optional<tensorflow::serving::PredictRequest>> ToOnePredict(
    const tensorflow::serving::MultiInferenceRequest& request, const Signatures& signatures, bool check_names);

// Returns the signature that the task or another request names; InvalidArgument if there is none.
Result<const tensorflow::SignatureDef*> SignatureOf(const Signatures& signatures,
                                                    const tensorflow::serving::ModelSpec& spec);

// Returns the outputs of one signature, under their names in the signature, from the outputs of all.
engine::TensorMap OutputsOfSignature(const std::string& signature, const engine::TensorMap& all);

}  // namespace longshore::inference
