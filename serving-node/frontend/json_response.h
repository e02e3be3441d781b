// Answers of the REST API as JSON text, in TensorFlow Serving's form.
#pragma once

#include <string>
#include <string_view>

#include "common/error.h"
#include "serving-node/engine/engine.h"
#include "serving-node/frontend/json_request.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::frontend {

// Which strings are {"b64": "..."}: those of outputs named *_bytes, as TensorFlow Serving has it; or beside these every
// one that is no UTF-8, so that what comes out is JSON whatever the model says.
enum class JsonBytes { kByName, kByContent };

// {"predictions": ...} for rows, {"outputs": ...} for columns; the name of a single output is dropped. Floats are the
// shortest text that reads back the same, whole ones with ".0"; NaN, Infinity and -Infinity are bare words. Strings of
// outputs named *_bytes are {"b64": "..."}.
// InvalidArgument for a type that JSON has no form for, or rows that differ in their number.
Result<std::string> PredictionsToJson(const engine::TensorMap& outputs, JsonForm form,
                                      JsonBytes bytes = JsonBytes::kByName);

// {"error": "..."}
std::string ErrorToJson(std::string_view message);

std::string StatusToJson(const tensorflow::serving::GetModelStatusResponse& status);
std::string MetadataToJson(const tensorflow::serving::ModelSpec& spec,
                           const tensorflow::serving::SignatureDefMap& signatures);

}  // namespace longshore::frontend
