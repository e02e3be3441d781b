// Reads the JSON body of a REST prediction.
//
// Row form: {"instances": [...]}, one element per row. Columnar form: {"inputs": ...}, whole tensors. The signature
// decides which JSON types are valid: https://www.tensorflow.org/tfx/serving/api_rest. Error texts are TensorFlow
// Serving's.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/base/budget.h"
#include "common/base/error.h"
#include "serving-node/engine/engine.h"
#include "tensorflow/saved_model.pb.h"

namespace longshore::frontend::json {

enum class JsonForm { kRow, kColumnar };

// What a body asks for.
struct Prediction {
  JsonForm form;
  std::string signature_name;  // "" if the body has none.
  engine::TensorMap inputs;
};

// Returns the signature with this name, which is never "". The pointer must stay valid during the conversion.
using FindSignature = std::function<Result<const tensorflow::SignatureDef*>(const std::string& name)>;

// Returns InvalidArgument if the text is invalid, Unimplemented for a type that JSON cannot represent, and
// ResourceExhausted for more than elements_max elements, before it allocates memory for them. Bytes after the first
// JSON value are ignored. The recursion depth is limited by kRankMax.
Result<Prediction> PredictionFromJson(std::string_view json, const FindSignature& find_signature,
                                      size_t elements_max = Budget().elements_max);

}  // namespace longshore::frontend::json
