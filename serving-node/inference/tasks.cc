#include "serving-node/inference/tasks.h"

#include <string_view>
#include <utility>

#include "common/base/sorted_keys.h"
#include "serving-node/engine/together.h"

namespace longshore::inference {
namespace {

using tensorflow::serving::InferenceTask;
using tensorflow::serving::MultiInferenceRequest;

Question QuestionOf(const MultiInferenceRequest& request, const InferenceTask& task,
                    const tensorflow::SignatureDef& signature, bool check_name) {
  return {.spec = task.model_spec(), .input = request.input(), .signature = signature, .check_name = check_name};
}

void AddOutputs(const std::string& name, const tensorflow::SignatureDef& signature, Request* request) {
  for (const std::string_view output : SortedKeys(signature.outputs()))
    request->AddOutput(engine::OutputOf(name, output));
}

}  // namespace

Result<const tensorflow::SignatureDef*> SignatureOf(const Signatures& signatures,
                                                    const tensorflow::serving::ModelSpec& spec) {
  const std::string name = SignatureName(spec);
  const auto found = signatures.find(name);
  if (found != signatures.end()) return &found->second;
  return InvalidArgument("No signature was found with the name: {}", name);
}

Result<std::optional<Request>> ToOnePredict(const MultiInferenceRequest& request, const Signatures& signatures,
                                            bool check_names) {
  std::optional<Request> whole;
  const tensorflow::SignatureDef* first = nullptr;
  bool together = true;
  for (const InferenceTask& task : request.tasks()) {
    ASSIGN_OR_RETURN(const tensorflow::SignatureDef* signature, SignatureOf(signatures, task.model_spec()));
    const Method method = *MethodOf(task.method_name());
    const Question question = QuestionOf(request, task, *signature, check_names);
    if (first == nullptr) {
      first = signature;
      ASSIGN_OR_RETURN(whole, ToPredict(method, question));
    } else {
      RETURN_IF_ERROR(CheckSignature(method, question));
    }
    together = together && engine::MayRunTogether(*first, *signature);
    AddOutputs(SignatureName(task.model_spec()), *signature, &*whole);
  }
  return together ? std::move(whole) : std::nullopt;
}

engine::TensorMap OutputsOfSignature(const std::string& signature, const engine::TensorMap& all) {
  const std::string prefix = engine::OutputOf(signature, "");
  engine::TensorMap outputs;
  for (const auto& [name, tensor] : all) {
    const bool is_its_output = name.starts_with(prefix) && name.find('/', prefix.size()) == name.npos;
    if (is_its_output) outputs.emplace(name.substr(prefix.size()), tensor);
  }
  return outputs;
}

}  // namespace longshore::inference
