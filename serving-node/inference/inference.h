// Classify, Regress and MultiInference are Predict in other words: Examples go in as one string tensor, and the outputs
// that the signature calls "classes", "scores" or "outputs" become the results. Everything here is a value made of
// values.
//
//   Classify {examples: [a, b]}  ->  Predict {inputs: {"inputs": string[2]}}  ->  {"classes": string[2, k],
//   "scores": float[2, k]}  ->  two Classifications of k classes each.
//
// Texts and rules are TensorFlow Serving's (https://www.tensorflow.org/tfx/serving/api_rest, signature_defs).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/error.h"
#include "serving-node/engine/engine.h"
#include "tensorflow/saved_model.pb.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::inference {

// The signature that a request means: "serving_default" when it names none.
std::string SignatureName(std::string_view named);
std::string SignatureName(const tensorflow::serving::ModelSpec& spec);

enum class Method { kClassify, kRegress };

// "tensorflow/serving/classify", as signatures name it.
std::string_view NameOf(Method method);
// Unimplemented for any other name.
Result<Method> MethodOf(std::string_view name);

// What the context may take that goes before every example: a small request must not become a large one.
inline constexpr size_t kContextBytesMax = size_t{64} << 20;

// The Predict that answers. ResourceExhausted above that; InvalidArgument when the input holds no example, or the
// signature has other inputs and outputs than the method wants; with `check_name` also when the signature is of another
// method.
struct Question {
  const tensorflow::serving::ModelSpec& spec;
  const tensorflow::serving::Input& input;
  const tensorflow::SignatureDef& signature;
  bool check_name = false;
};
Result<tensorflow::serving::PredictRequest> ToPredict(Method method, const Question& question);

// How many Examples the input holds.
int ExampleCount(const tensorflow::serving::Input& input);

// From "classes" string [examples, k] and "scores" float [examples, k], of which one may be absent.
// InvalidArgument for other types or shapes.
Result<tensorflow::serving::ClassificationResult> ToClassifications(const engine::TensorMap& outputs, int examples);

// From "outputs" float [examples] or [examples, 1]. InvalidArgument for other types or shapes.
Result<tensorflow::serving::RegressionResult> ToRegressions(const engine::TensorMap& outputs, int examples);

// InvalidArgument when the tasks name more than one model or version, or a signature twice; Unimplemented for a method
// that is neither classify nor regress.
Status CheckTasks(const tensorflow::serving::MultiInferenceRequest& request);

}  // namespace longshore::inference
