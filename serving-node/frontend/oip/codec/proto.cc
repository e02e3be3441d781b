#include "serving-node/frontend/oip/codec/proto.h"

#include <utility>

#include "common/base/text.h"
#include "serving-node/frontend/oip/codec/datatype.h"
#include "serving-node/frontend/oip/codec/raw.h"

namespace longshore::frontend::oip::codec {
namespace {

using ::inference::InferParameter;
using ::inference::ModelInferRequest;
using InputTensor = ModelInferRequest::InferInputTensor;

Parameter ValueOf(const InferParameter& parameter) {
  switch (parameter.parameter_choice_case()) {
    case InferParameter::kBoolParam: return parameter.bool_param();
    case InferParameter::kInt64Param: return parameter.int64_param();
    case InferParameter::kUint64Param: return parameter.uint64_param();
    case InferParameter::kDoubleParam: return parameter.double_param();
    default: return parameter.string_param();
  }
}

template <typename Parameters, typename Target>
Status SetParameters(const Parameters& parameters, Target* target) {
  for (const auto& [name, parameter] : parameters) RETURN_IF_ERROR(SetParameter(name, ValueOf(parameter), target));
  return {};
}

Result<InputHead> HeadOf(const std::string& model, const InputTensor& input) {
  InputHead head{.model = model, .name = input.name()};
  for (const auto& [name, parameter] : input.parameters()) {
    if (name.starts_with("shared_memory_")) return NoSharedMemory(input.name());
  }
  RETURN_IF_ERROR(SetDatatype(input.datatype(), &head));
  head.shape.assign(input.shape().begin(), input.shape().end());
  return head;
}

Status CheckRawContents(const OpenedRequest& opened) {
  const auto& head = opened.head;
  if (opened.raw_contents.empty()) return {};
  if (opened.raw_contents.size() != opened.contents.size()) {
    return InvalidArgument("expected tensor data for {} inputs in raw_input_contents for model '{}', got {}",
                           head.inputs_size(), head.model_name(), opened.raw_contents.size());
  }
  for (int i = 0; i < head.inputs_size(); ++i) {
    if (!opened.contents[static_cast<size_t>(i)]) continue;
    return InvalidArgument("contents field must not be specified when using raw_input_contents for '{}' for model '{}'",
                           head.inputs(i).name(), head.model_name());
  }
  return {};
}

Status ReadInputs(const OpenedRequest& opened, int64_t elements_max, InferRequest* request) {
  ElementBudget budget(elements_max);
  for (size_t i = 0; i < opened.contents.size(); ++i) {
    ASSIGN_OR_RETURN(const InputHead head, HeadOf(request->model, opened.head.inputs(static_cast<int>(i))));
    auto values = opened.raw_contents.empty()
                      ? FromContents(head, opened.bytes, opened.contents[i].value_or(Contents()), &budget)
                      : FromRaw(head, opened.bytes, opened.raw_contents[i], &budget);
    if (!values) return tl::make_unexpected(values.error());
    RETURN_IF_ERROR(AddInput(head.name, std::move(*values), request));
  }
  return {};
}

}  // namespace

Result<InferRequest> FromProto(OpenedRequest opened, int64_t elements_max) {
  RETURN_IF_ERROR(CheckRawContents(opened));
  ModelInferRequest& message = opened.head;
  InferRequest request;
  request.model = std::move(*message.mutable_model_name());
  request.version = std::move(*message.mutable_model_version());
  request.id = std::move(*message.mutable_id());
  RETURN_IF_ERROR(SetParameters(message.parameters(), &request));
  for (auto& output : *message.mutable_outputs()) {
    RequestedOutput requested{.name = std::move(*output.mutable_name())};
    RETURN_IF_ERROR(SetParameters(output.parameters(), &requested));
    RETURN_IF_ERROR(AddOutput(std::move(requested), &request));
  }
  RETURN_IF_ERROR(ReadInputs(opened, elements_max, &request));
  return request;
}

bool AsksForFinalResponse(const ModelInferRequest& message) {
  const auto found = message.parameters().find(std::string(kEmptyFinalResponse));
  return found != message.parameters().end() && found->second.bool_param();
}

::inference::ModelInferResponse ToProto(const InferAnswer& answer) {
  ::inference::ModelInferResponse message;
  message.set_model_name(ValidUtf8(answer.model));
  message.set_model_version(answer.version);
  message.set_id(ValidUtf8(answer.id));
  for (const InferOutput& each : answer.outputs) {
    auto& output = *message.add_outputs();
    output.set_name(ValidUtf8(each.name));
    output.set_datatype(std::string(DatatypeName(each.values.type())));
    output.mutable_shape()->Assign(each.values.shape().begin(), each.values.shape().end());
    message.add_raw_output_contents(ToRaw(each.values));
  }
  return message;
}

}  // namespace longshore::frontend::oip::codec
