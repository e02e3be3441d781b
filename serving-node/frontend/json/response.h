// Answers of the REST API as JSON text, in TensorFlow Serving's form.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"
#include "serving-node/engine/engine.h"
#include "serving-node/frontend/json/request.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::frontend::json {

// Which strings are written as {"b64": "..."}. kByName: the strings of outputs whose names end with "_bytes", as in
// TensorFlow Serving. kByContent: also every string that is not valid UTF-8, so that the result is always valid JSON.
enum class JsonBytes { kByName, kByContent };

// Returns {"predictions": ...} for rows and {"outputs": ...} for columns. If there is only one output, its name is
// omitted. A float is written as the shortest text that parses to the same value, with ".0" if it is whole; NaN,
// Infinity and -Infinity are written without quotes. InvalidArgument for a type that JSON cannot represent, or if the
// outputs differ in the number of rows.
Result<std::string> PredictionsToJson(const engine::TensorMap& outputs, JsonForm form,
                                      JsonBytes bytes = JsonBytes::kByName);

// Returns {"error": "..."}.
std::string ErrorToJson(std::string_view message);

std::string StatusToJson(const tensorflow::serving::GetModelStatusResponse& status);
std::string MetadataToJson(const tensorflow::serving::ModelSpec& spec,
                           const tensorflow::serving::SignatureDefMap& signatures);

}  // namespace longshore::frontend::json
