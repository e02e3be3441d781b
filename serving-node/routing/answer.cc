#include "serving-node/routing/answer.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "serving-node/evidence/drift.h"
#include "serving-node/inference/inference.h"
#include "serving-node/tensor/proto.h"

namespace longshore::routing {
namespace {

using google::protobuf::internal::WireFormatLite;
using tensorflow::serving::ModelSpec;
using tensorflow::serving::PredictResponse;

// Reads only the ModelSpec of a PredictResponse and skips the tensors, which may be large. Returns an empty ModelSpec
// if the response has none.
ModelSpec SpecOf(const std::string& serialized_response) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(serialized_response.data());
  google::protobuf::io::CodedInputStream input(bytes, static_cast<int>(serialized_response.size()));
  const uint32_t wanted =
      WireFormatLite::MakeTag(PredictResponse::kModelSpecFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  ModelSpec spec;
  while (const uint32_t tag = input.ReadTag()) {
    std::string field;
    uint32_t size = 0;
    if (tag != wanted) {
      if (!WireFormatLite::SkipField(&input, tag)) break;
    } else if (!input.ReadVarint32(&size) || !input.ReadString(&field, static_cast<int>(size)) ||
               !spec.ParseFromString(field)) {
      return {};
    }
  }
  return spec;
}

}  // namespace

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

PredictAnswer AnswerOf(const ModelSpec& asked, std::string serialized_response) {
  PredictAnswer answer = AnswerOf(asked, SpecOf(serialized_response).version().value(), {});
  answer.serialized = std::move(serialized_response);
  return answer;
}

bool IsFinite(const PredictAnswer& answer) {
  if (answer.serialized.empty()) return !evidence::HasNonFinite(answer.outputs);
  PredictResponse response;
  if (!response.ParseFromString(answer.serialized)) return false;
  engine::TensorMap outputs;
  for (const auto& [name, proto] : response.outputs()) {
    auto values = tensor::FromProto(proto);
    if (!values) return false;
    outputs.emplace(name, std::move(*values));
  }
  return !evidence::HasNonFinite(outputs);
}

}  // namespace longshore::routing
