// The JSON bodies of REST classify and regress: tf.Examples in, results out.
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

// Fills signature name and input. A feature is a value or a list of values of one kind: strings and {"b64": ..} are
// bytes, whole numbers and booleans are integers, other numbers are floats; a list with a float is a list of floats.
// InvalidArgument, with the example and the feature, for other values.
Status ExamplesFromJson(std::string_view json, tensorflow::serving::ModelSpec* spec, tensorflow::serving::Input* input);

// {"results": [[["label", score], ...], ...]}
std::string ClassificationsToJson(const tensorflow::serving::ClassificationResult& result);
// {"results": [value, ...]}
std::string RegressionsToJson(const tensorflow::serving::RegressionResult& result);

}  // namespace longshore::frontend::json
