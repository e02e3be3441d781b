#include "serving-node/frontend/oip/codec/infer.h"

#include <set>
#include <utility>

#include "serving-node/frontend/oip/codec/classification.h"
#include "serving-node/frontend/oip/codec/datatype.h"

namespace longshore::frontend::oip::codec {
namespace {

constexpr std::string_view kReservedPrefix = "triton_";

// Returns the value as a number; nullopt if it is negative or not an integer.
std::optional<uint64_t> Unsigned(const Parameter& value) {
  if (const auto* number = std::get_if<uint64_t>(&value)) return *number;
  const auto* number = std::get_if<int64_t>(&value);
  if (number == nullptr || *number < 0) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

tl::unexpected<Error> WrongType(std::string_view name, std::string_view expected) {
  return InvalidArgument("invalid value type for '{}' parameter, expected {}.", name, expected);
}

Status SetTimeout(const Parameter& value, InferRequest* request) {
  const auto timeout = Unsigned(value);
  constexpr uint64_t kTimeoutMax = uint64_t{1} << 50;  // More than thirty years.
  if (!timeout) return WrongType("timeout", "int64_param");
  request->timeout = std::chrono::microseconds(std::min(*timeout, kTimeoutMax));
  return {};
}

Status SetPriority(const Parameter& value, InferRequest* request) {
  request->priority = Unsigned(value);
  if (!request->priority) return WrongType("priority", "int64_param or uint64_param");
  return {};
}

template <typename T>
Status SetTo(std::string_view name, std::string_view type, const Parameter& value, T* target) {
  const auto* given = std::get_if<T>(&value);
  if (given == nullptr) return WrongType(name, type);
  *target = *given;
  return {};
}

// Takes the classes of an output from those that the answer may still have, before memory is allocated for them.
Status TakeClasses(int64_t classes, int64_t* left) {
  *left -= std::min(*left + 1, classes);
  if (*left < 0) return ResourceExhausted("the answer would have more than {} classes", kClassesMax);
  return {};
}

// Returns the output with the values of the tensor, or with their classes.
Result<InferOutput> ToOutput(const RequestedOutput& wanted, bool binary_data_output, tensor::Tensor values,
                             int64_t* classes_left) {
  InferOutput output{wanted.name, std::move(values), wanted.binary_data.value_or(binary_data_output)};
  if (wanted.classes > 0) {
    RETURN_IF_ERROR(TakeClasses(ClassCount(output.values, wanted.classes), classes_left));
    ASSIGN_OR_RETURN(output.values, HighestClasses(wanted.name, output.values, wanted.classes));
  }
  if (DatatypeName(output.values.type()).empty()) {
    return InvalidArgument("output '{}' has the type {}, which the Open Inference Protocol does not have", wanted.name,
                           tensor::DTypeName(output.values.type()));
  }
  return output;
}

std::vector<RequestedOutput> AllOf(const engine::TensorMap& outputs) {
  std::vector<RequestedOutput> all;
  for (const auto& [name, values] : outputs) all.push_back({.name = name});
  return all;
}

}  // namespace

Status SetParameter(const std::string& name, const Parameter& value, InferRequest* request) {
  if (name == "timeout") return SetTimeout(value, request);
  if (name == "priority") return SetPriority(value, request);
  if (name == "signature_name") return SetTo(name, "string_param", value, &request->signature);
  if (name == "binary_data_output") return SetTo(name, "bool_param", value, &request->binary_data_output);
  bool is_marked = false;  // AsksForFinalResponse reads the value, because errors are marked, too.
  if (name == kEmptyFinalResponse) return SetTo(name, "bool_param", value, &is_marked);
  if (name == "sequence_id" || name == "sequence_start" || name == "sequence_end") {
    return InvalidArgument(
        "parameter '{}': sequences are not supported, because no model of this server keeps a state "
        "between requests",
        name);
  }
  if (name.starts_with(kReservedPrefix)) {
    return InvalidArgument(
        "parameter keys starting with '{}' are reserved for Triton usage. Only the following keys "
        "starting with '{}' are allowed: {}",
        kReservedPrefix, kReservedPrefix, kEmptyFinalResponse);
  }
  return {};
}

Status SetParameter(const std::string& name, const Parameter& value, RequestedOutput* output) {
  if (name.starts_with("shared_memory_")) return NoSharedMemory(output->name);
  if (name == "binary_data") {
    bool binary = false;
    RETURN_IF_ERROR(SetTo(name, "bool_param", value, &binary));
    output->binary_data = binary;
  }
  if (name != "classification") return {};
  const auto classes = Unsigned(value);
  if (!classes) return WrongType(name, "int64_param >= 0");
  output->classes = static_cast<int64_t>(std::min<uint64_t>(*classes, INT64_MAX));
  return {};
}

tl::unexpected<Error> NoSharedMemory(std::string_view tensor) {
  return InvalidArgument(
      "tensor '{}': shared memory is not supported, because this server maps no memory of its clients: send and "
      "receive "
      "tensors in the messages",
      tensor);
}

Status AddInput(const std::string& name, tensor::Tensor values, InferRequest* request) {
  if (request->inputs.size() == kTensorsMax) return InvalidArgument("the request has more than {} inputs", kTensorsMax);
  if (request->inputs.emplace(name, std::move(values)).second) return {};
  return InvalidArgument("input '{}' already exists in request", name);
}

Status AddOutput(RequestedOutput output, InferRequest* request) {
  if (request->outputs.size() == kTensorsMax)
    return InvalidArgument("the request has more than {} outputs", kTensorsMax);
  request->outputs.push_back(std::move(output));
  return {};
}

Result<InferAnswer> AnswerTo(const InferRequest& request, int64_t version, engine::TensorMap outputs) {
  InferAnswer answer{request.model, std::to_string(version), request.id, {}};
  const auto& wanted = request.outputs.empty() ? AllOf(outputs) : request.outputs;
  int64_t classes_left = kClassesMax;
  std::set<std::string_view> written;
  for (const RequestedOutput& each : wanted) {
    if (!written.insert(each.name).second) continue;
    const auto found = outputs.find(each.name);
    if (found == outputs.end()) return Internal("the model did not return the output '{}'", each.name);
    ASSIGN_OR_RETURN(InferOutput output, ToOutput(each, request.binary_data_output, found->second, &classes_left));
    answer.outputs.push_back(std::move(output));
  }
  return answer;
}

}  // namespace longshore::frontend::oip::codec
