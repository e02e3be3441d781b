// The JSON body of a REST prediction, made into a PredictRequest.
//
// Row form: {"instances": [...]}, one element per row. Columnar form: {"inputs": ...}, whole tensors. Which JSON types
// fit is up to the signature: https://www.tensorflow.org/tfx/serving/api_rest. Error texts are TensorFlow Serving's.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/budget.h"
#include "common/error.h"
#include "tensorflow/saved_model.pb.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::frontend {

enum class JsonForm { kRow, kColumnar };

// The signature of that name ("" is never asked). The pointer stays valid while the request is made.
using FindSignature = std::function<Result<const tensorflow::SignatureDef*>(const std::string& name)>;

// Fills signature name and inputs of the request. InvalidArgument for what is wrong with the text; Unimplemented for a
// type that JSON has no form for; ResourceExhausted for more than elements_max elements, before memory is taken for
// them. Bytes after the first JSON value are ignored. Recursion is bounded by kRankMax.
Result<JsonForm> PredictRequestFromJson(std::string_view json, const FindSignature& find_signature,
                                        tensorflow::serving::PredictRequest* request,
                                        size_t elements_max = Budget().elements_max);

}  // namespace longshore::frontend
