// Converts Classify, Regress and MultiInference to Predict and back: the Examples become one string tensor, and the
// outputs "classes", "scores" or "outputs" of the signature become the results. All functions are pure.
//
//   Classify {examples: [a, b]}  ->  Predict {inputs: {"inputs": string[2]}}  ->  {"classes": string[2, k],
//   "scores": float[2, k]}  ->  two Classifications of k classes each.
//
// Error texts and rules are those of TensorFlow Serving (https://www.tensorflow.org/tfx/serving/api_rest,
// signature_defs).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "serving-node/engine/engine.h"
#include "tensorflow/saved_model.pb.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::inference {

// The signature of a request: "serving_default" if it names none.
std::string SignatureName(std::string_view named);
std::string SignatureName(const tensorflow::serving::ModelSpec& spec);

enum class Method { kClassify, kRegress };

// The method name in signatures, for example "tensorflow/serving/classify".
std::string_view NameOf(Method method);
// Returns the method with this name; Unimplemented for any other name.
Result<Method> MethodOf(std::string_view name);

// The limit of the bytes that copying the context into every example may take. Otherwise a small request could need a
// lot of memory.
inline constexpr size_t kContextBytesMax = size_t{64} << 20;

struct Question {
  const tensorflow::serving::ModelSpec& spec;
  const tensorflow::serving::Input& input;
  const tensorflow::SignatureDef& signature;
  bool check_name = false;
};

// Returns InvalidArgument if the signature lacks inputs or outputs that the method needs, or, with `check_name`, if it
// names another method.
Status CheckSignature(Method method, const Question& question);

// Returns the PredictRequest for the question. ResourceExhausted above kContextBytesMax; InvalidArgument if the input
// has no example; the errors of CheckSignature.
Result<tensorflow::serving::PredictRequest> ToPredict(Method method, const Question& question);

// The number of Examples in the input.
int ExampleCount(const tensorflow::serving::Input& input);

// Converts the outputs "classes" (string [examples, k]) and "scores" (float [examples, k]); one of them may be absent.
// InvalidArgument for other types or shapes.
Result<tensorflow::serving::ClassificationResult> ToClassifications(const engine::TensorMap& outputs, int examples);

// Converts the output "outputs" (float [examples] or [examples, 1]). InvalidArgument for other types or shapes.
Result<tensorflow::serving::RegressionResult> ToRegressions(const engine::TensorMap& outputs, int examples);

// Returns InvalidArgument if the tasks name more than one model or version, or a signature twice; Unimplemented for a
// method other than classify and regress.
Status CheckTasks(const tensorflow::serving::MultiInferenceRequest& request);

}  // namespace longshore::inference
