// Converts the JSON bodies of the REST methods classify and regress: requests into tf.Examples, and results into JSON.
//
//   {"signature_name": "s", "context": {"c": "shared"}, "examples": [{"x": 1.5, "words": ["a", {"b64": "Yg=="}]}]}
//
// https://www.tensorflow.org/tfx/serving/api_rest#classify_and_regress_api
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::frontend::json {

// Fills the signature name of `spec`, and `input`. A feature is a value or a list of values of one kind: strings and
// {"b64": ..} are bytes, whole numbers and booleans are integers, and other numbers are floats. A list that contains a
// float is a list of floats. For other values, returns InvalidArgument, which names the example and the feature.
Status ExamplesFromJson(std::string_view json, tensorflow::serving::ModelSpec* spec, tensorflow::serving::Input* input);

// Returns {"results": [[["label", score], ...], ...]}.
std::string ClassificationsToJson(const tensorflow::serving::ClassificationResult& result);
// Returns {"results": [value, ...]}.
std::string RegressionsToJson(const tensorflow::serving::RegressionResult& result);

}  // namespace longshore::frontend::json
