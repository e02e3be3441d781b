#include "serving-node/routing/answer.h"

#include "serving-node/evidence/drift.h"
#include "serving-node/inference/inference.h"
#include "serving-node/inference/response.h"

namespace longshore::routing {

using tensorflow::serving::ModelSpec;

const char* NameOf(Api api) {
  switch (api) {
    case Api::kPredict: return "Predict";
    case Api::kClassify: return "Classify";
    case Api::kRegress: return "Regress";
    case Api::kMultiInference: return "MultiInference";
  }
  return "";
}

PredictAnswer AnswerOf(const ModelSpec& asked, int64_t version, engine::TensorMap outputs) {
  PredictAnswer answer;
  answer.model_spec.set_name(asked.name());
  answer.model_spec.mutable_version()->set_value(version);
  answer.model_spec.set_signature_name(inference::SignatureName(asked));
  answer.outputs = std::move(outputs);
  return answer;
}

PredictAnswer AnswerOf(const ModelSpec& asked, Pieces serialized_response) {
  PredictAnswer answer = AnswerOf(asked, inference::SpecOf(serialized_response).version().value(), {});
  answer.serialized = std::move(serialized_response);
  return answer;
}

bool IsFinite(const PredictAnswer& answer) {
  if (answer.serialized.empty()) return !evidence::HasNonFinite(answer.outputs);
  const auto outputs = inference::OutputsOf(answer.serialized);
  return outputs && !evidence::HasNonFinite(*outputs);
}

}  // namespace longshore::routing
