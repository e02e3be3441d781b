#include "serving-node/inference/inference.h"

#include <fmt/ranges.h>

#include <set>

#include "common/base/sorted_keys.h"

namespace longshore::inference {
namespace {

using engine::TensorMap;
using tensor::DType;
using tensor::Tensor;
using tensorflow::serving::Input;

constexpr const char* kInputs = "inputs";
constexpr const char* kClasses = "classes";
constexpr const char* kScores = "scores";
constexpr const char* kOutputs = "outputs";

const google::protobuf::RepeatedPtrField<tensorflow::Example>& ExamplesOf(const Input& input) {
  return input.has_example_list_with_context() ? input.example_list_with_context().examples()
                                               : input.example_list().examples();
}

// Each element of the tensor is the context followed by the example. A parser keeps the last value of a feature, so the
// example's value wins over the context's.
Result<Tensor> ToTensor(const Input& input) {
  if (ExampleCount(input) == 0) return InvalidArgument("Input is empty.");
  const std::string context = input.example_list_with_context().context().SerializeAsString();
  const auto count = static_cast<size_t>(ExampleCount(input));
  if (context.size() > kContextBytesMax / count) {
    return ResourceExhausted("a context of {} bytes, copied into each of {} examples, exceeds {} bytes", context.size(),
                             count, kContextBytesMax);
  }
  ASSIGN_OR_RETURN(Tensor made, Tensor::Make(DType::kString, {ExampleCount(input)}));
  auto bytes = made.mutable_values<std::string>().begin();
  for (const auto& example : ExamplesOf(input)) {
    bytes->reserve(context.size() + example.ByteSizeLong());
    *bytes = context;
    example.AppendToString(&*bytes++);
  }
  return made;
}

std::string NamesOf(const google::protobuf::Map<std::string, tensorflow::TensorInfo>& tensors) {
  return fmt::format("{}", fmt::join(SortedKeys(tensors), ", "));
}

// Returns the output `name` after checking its type and that its shape is [examples, k]; nullptr if there is none.
Result<const Tensor*> ColumnsOf(const TensorMap& outputs, const char* name, DType type, int examples) {
  const auto found = outputs.find(name);
  if (found == outputs.end()) return nullptr;
  const Tensor& tensor = found->second;
  if (tensor.rank() != 2) {
    return InvalidArgument("Expected Tensor shape: [batch_size num_classes] but got {} for {}",
                           tensor::ToString(tensor.shape()), name);
  }
  if (tensor.type() != type) {
    return InvalidArgument("Expected {} Tensor of {}. Got: {}", name, DTypeName(type), DTypeName(tensor.type()));
  }
  if (tensor.dim(0) != examples) {
    return InvalidArgument("Expected {} output batch size of {}. Got: {}", name, examples, tensor.dim(0));
  }
  return &tensor;
}

}  // namespace

std::string SignatureName(std::string_view named) { return std::string(named.empty() ? "serving_default" : named); }

std::string SignatureName(const tensorflow::serving::ModelSpec& spec) { return SignatureName(spec.signature_name()); }

std::string_view NameOf(Method method) {
  return method == Method::kClassify ? "tensorflow/serving/classify" : "tensorflow/serving/regress";
}

Result<Method> MethodOf(std::string_view name) {
  for (const Method method : {Method::kClassify, Method::kRegress}) {
    if (name == NameOf(method)) return method;
  }
  return Unimplemented("Unsupported signature method_name: {}", name);
}

int ExampleCount(const Input& input) { return ExamplesOf(input).size(); }

Status CheckSignature(Method method, const Question& question) {
  const auto& signature = question.signature;
  if (question.check_name && signature.method_name() != NameOf(method)) {
    return InvalidArgument("Expected signature method_name to be {}. Was: {}", NameOf(method), signature.method_name());
  }
  if (signature.inputs_size() != 1) return InvalidArgument("Expected one input Tensor.");
  if (!signature.inputs().contains(kInputs)) {
    return InvalidArgument("No inputs found in signature: its input is called \"{}\" and not \"inputs\"",
                           NamesOf(signature.inputs()));
  }
  if (method == Method::kRegress) {
    if (signature.outputs_size() == 1 && signature.outputs().contains(kOutputs)) return {};
    return InvalidArgument("Expected one output Tensor, called \"outputs\", instead of: {}",
                           NamesOf(signature.outputs()));
  }
  if (signature.outputs_size() < 1 || signature.outputs_size() > 2) {
    return InvalidArgument("Expected one or two output Tensors, found {}", signature.outputs_size());
  }
  if (signature.outputs().contains(kClasses) || signature.outputs().contains(kScores)) return {};
  return InvalidArgument(
      "Expected classification signature outputs to contain at least one of \"classes\" or \"scores\". Signature was: "
      "{}",
      NamesOf(signature.outputs()));
}

Result<Request> ToPredict(Method method, const Question& question) {
  RETURN_IF_ERROR(CheckSignature(method, question));
  ASSIGN_OR_RETURN(Tensor examples, ToTensor(question.input));
  return Request(question.spec, {{kInputs, std::move(examples)}});
}

Result<tensorflow::serving::ClassificationResult> ToClassifications(const TensorMap& outputs, int examples) {
  ASSIGN_OR_RETURN(const Tensor* labels, ColumnsOf(outputs, kClasses, DType::kString, examples));
  ASSIGN_OR_RETURN(const Tensor* scores, ColumnsOf(outputs, kScores, DType::kFloat, examples));
  if (labels == nullptr && scores == nullptr)
    return InvalidArgument("the outputs contain neither \"classes\" nor \"scores\"");
  const int64_t classes = (labels != nullptr ? labels : scores)->dim(1);
  if (scores != nullptr && scores->dim(1) != classes) {
    return InvalidArgument("Tensors class and score should match in dim_size(1). Got {} vs. {}", classes,
                           scores->dim(1));
  }
  tensorflow::serving::ClassificationResult result;
  for (int example = 0; example < examples; ++example) {
    auto* row = result.add_classifications();
    for (int64_t i = 0; i < classes; ++i) {
      const auto at = static_cast<size_t>(example * classes + i);
      auto* one = row->add_classes();
      if (labels != nullptr) one->set_label(labels->values<std::string>()[at]);
      if (scores != nullptr) one->set_score(scores->values<float>()[at]);
    }
  }
  return result;
}

Result<tensorflow::serving::RegressionResult> ToRegressions(const TensorMap& outputs, int examples) {
  const auto found = outputs.find(kOutputs);
  if (found == outputs.end()) return InvalidArgument("the outputs do not contain \"outputs\"");
  const Tensor& tensor = found->second;
  if (tensor.rank() != 1 && !(tensor.rank() == 2 && tensor.dim(1) == 1)) {
    return InvalidArgument("Expected Tensor shape: [batch_size] or [batch_size, 1] but got {}",
                           tensor::ToString(tensor.shape()));
  }
  if (tensor.type() != DType::kFloat)
    return InvalidArgument("Expected output Tensor of DT_FLOAT. Got: {}", DTypeName(tensor.type()));
  if (tensor.dim(0) != examples) {
    return InvalidArgument("Input batch size did not match output batch size. Expected: {} Got: {}", examples,
                           tensor.dim(0));
  }
  tensorflow::serving::RegressionResult result;
  for (const float value : tensor.values<float>()) result.add_regressions()->set_value(value);
  return result;
}

Status CheckTasks(const tensorflow::serving::MultiInferenceRequest& request) {
  if (request.tasks().empty()) return InvalidArgument("Inference request must have at least one task.");
  const auto& first = request.tasks(0).model_spec();
  std::set<std::string> signatures;
  for (const auto& task : request.tasks()) {
    const auto& spec = task.model_spec();
    RETURN_IF_ERROR(MethodOf(task.method_name()).map([](Method) {}));
    if (spec.name().empty()) return InvalidArgument("Found ModelSpec with an empty model name.");
    if (spec.name() != first.name()) {
      return InvalidArgument("All ModelSpecs in a MultiInferenceRequest must access the same model name.");
    }
    if (spec.version().value() != first.version().value() || spec.version_label() != first.version_label()) {
      return InvalidArgument("All ModelSpecs in a MultiInferenceRequest must access the same version.");
    }
    if (!signatures.insert(SignatureName(spec)).second) {
      return InvalidArgument("Duplicate evaluation of signature: {}", spec.signature_name());
    }
  }
  return {};
}

}  // namespace longshore::inference
