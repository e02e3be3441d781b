#include "serving-node/frontend/oip/codec/proto.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "serving-node/frontend/oip/codec/datatype.h"
#include "serving-node/frontend/oip/codec/raw.h"

namespace longshore::frontend::oip::codec {
namespace {

using ::inference::InferParameter;
using ::inference::InferTensorContents;
using ::inference::ModelInferRequest;
using tensor::DType;
using tensor::Tensor;
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

// The number of elements in all fields, and the name and size of the field for the type.
struct ContentsSize {
  const char* field;
  int elements;
};

ContentsSize SizeOf(const InferTensorContents& contents, DType type) {
  switch (type) {
    case DType::kBool: return {"bool_contents", contents.bool_contents_size()};
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32: return {"int_contents", contents.int_contents_size()};
    case DType::kInt64: return {"int64_contents", contents.int64_contents_size()};
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32: return {"uint_contents", contents.uint_contents_size()};
    case DType::kUint64: return {"uint64_contents", contents.uint64_contents_size()};
    case DType::kFloat: return {"fp32_contents", contents.fp32_contents_size()};
    case DType::kDouble: return {"fp64_contents", contents.fp64_contents_size()};
    case DType::kString: return {"bytes_contents", contents.bytes_contents_size()};
    default: return {"raw_input_contents", 0};
  }
}

int ElementsIn(const InferTensorContents& contents) {
  return contents.bool_contents_size() + contents.int_contents_size() + contents.int64_contents_size() +
         contents.uint_contents_size() + contents.uint64_contents_size() + contents.fp32_contents_size() +
         contents.fp64_contents_size() + contents.bytes_contents_size();
}

template <typename T, typename Field>
Status Fill(const InputHead& head, const Field& field, Tensor* tensor) {
  auto* out = reinterpret_cast<T*>(tensor->mutable_data());
  for (const auto value : field) {
    const T element = static_cast<T>(value);
    if (static_cast<decltype(value)>(element) != value && value == value) {
      return InvalidArgument("input '{}': the value {} does not fit into {}", head.name, value,
                             DatatypeName(head.type));
    }
    *out++ = element;
  }
  return {};
}

Status FillFrom(const InputHead& head, const InferTensorContents& contents, Tensor* tensor) {
  switch (head.type) {
    case DType::kBool: return Fill<bool>(head, contents.bool_contents(), tensor);
    case DType::kInt8: return Fill<int8_t>(head, contents.int_contents(), tensor);
    case DType::kInt16: return Fill<int16_t>(head, contents.int_contents(), tensor);
    case DType::kInt32: return Fill<int32_t>(head, contents.int_contents(), tensor);
    case DType::kInt64: return Fill<int64_t>(head, contents.int64_contents(), tensor);
    case DType::kUint8: return Fill<uint8_t>(head, contents.uint_contents(), tensor);
    case DType::kUint16: return Fill<uint16_t>(head, contents.uint_contents(), tensor);
    case DType::kUint32: return Fill<uint32_t>(head, contents.uint_contents(), tensor);
    case DType::kUint64: return Fill<uint64_t>(head, contents.uint64_contents(), tensor);
    case DType::kFloat: return Fill<float>(head, contents.fp32_contents(), tensor);
    case DType::kDouble: return Fill<double>(head, contents.fp64_contents(), tensor);
    default: break;
  }
  std::ranges::copy(contents.bytes_contents(), tensor->mutable_values<std::string>().begin());
  return {};
}

// Reads an input from the typed fields.
Result<Tensor> FromContents(const InputHead& head, const InferTensorContents& contents, ElementBudget* budget) {
  ASSIGN_OR_RETURN(const int64_t count, budget->Take(head));
  const ContentsSize size = SizeOf(contents, head.type);
  if (head.type == DType::kHalf || head.type == DType::kBfloat16) {
    return InvalidArgument("input '{}' of datatype {} has no typed contents: use raw_input_contents", head.name,
                           DatatypeName(head.type));
  }
  if (size.elements != ElementsIn(contents)) {
    return InvalidArgument(
        "unexpected explicit tensor data for input tensor '{}' for model '{}' of type '{}': expected "
        "only {}",
        head.name, head.model, DatatypeName(head.type), size.field);
  }
  if (size.elements != count) {
    return InvalidArgument(
        "unable to parse 'contents' of input '{}' for model '{}': {} has {} elements, but the shape {} "
        "has {}",
        head.name, head.model, size.field, size.elements, tensor::ToString(head.shape), count);
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(head.type, head.shape));
  RETURN_IF_ERROR(FillFrom(head, contents, &tensor));
  return tensor;
}

Status CheckRawContents(const ModelInferRequest& message) {
  if (message.raw_input_contents_size() == 0) return {};
  if (message.raw_input_contents_size() != message.inputs_size()) {
    return InvalidArgument("expected tensor data for {} inputs in raw_input_contents for model '{}', got {}",
                           message.inputs_size(), message.model_name(), message.raw_input_contents_size());
  }
  for (const InputTensor& input : message.inputs()) {
    if (!input.has_contents()) continue;
    return InvalidArgument("contents field must not be specified when using raw_input_contents for '{}' for model '{}'",
                           input.name(), message.model_name());
  }
  return {};
}

Status ReadInputs(ModelInferRequest* message, int64_t elements_max, InferRequest* request) {
  ElementBudget budget(elements_max);
  const bool is_raw = message->raw_input_contents_size() > 0;
  for (int i = 0; i < message->inputs_size(); ++i) {
    InputTensor& input = *message->mutable_inputs(i);
    ASSIGN_OR_RETURN(const InputHead head, HeadOf(request->model, input));
    const std::string raw = is_raw ? std::move(*message->mutable_raw_input_contents(i)) : "";
    auto values = is_raw ? FromRaw(head, raw, &budget) : FromContents(head, input.contents(), &budget);
    if (!values) return tl::make_unexpected(values.error());
    input.clear_contents();
    RETURN_IF_ERROR(AddInput(head.name, std::move(*values), request));
  }
  return {};
}

}  // namespace

Result<InferRequest> FromProto(ModelInferRequest message, int64_t elements_max) {
  RETURN_IF_ERROR(CheckRawContents(message));
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
  RETURN_IF_ERROR(ReadInputs(&message, elements_max, &request));
  return request;
}

bool AsksForFinalResponse(const ModelInferRequest& message) {
  const auto found = message.parameters().find(std::string(kEmptyFinalResponse));
  return found != message.parameters().end() && found->second.bool_param();
}

::inference::ModelInferResponse ToProto(const InferAnswer& answer) {
  ::inference::ModelInferResponse message;
  message.set_model_name(answer.model);
  message.set_model_version(answer.version);
  message.set_id(answer.id);
  for (const InferOutput& each : answer.outputs) {
    auto& output = *message.add_outputs();
    output.set_name(each.name);
    output.set_datatype(std::string(DatatypeName(each.values.type())));
    output.mutable_shape()->Assign(each.values.shape().begin(), each.values.shape().end());
    message.add_raw_output_contents(ToRaw(each.values));
  }
  return message;
}

}  // namespace longshore::frontend::oip::codec
