#include "serving-node/inspect/inputs.h"

#include <fmt/ranges.h>

#include <iostream>
#include <iterator>

#include "common/os/file.h"
#include "serving-node/frontend/json/request.h"
#include "serving-node/inspect/summary.h"
#include "serving-node/tensor/info.h"
#include "serving-node/tensor/npy.h"

namespace longshore::inspect {
namespace {

constexpr char kDefaultSignature[] = "serving_default";
constexpr size_t kElementsMax = size_t{1} << 30;

using tensor::Tensor;
using tensorflow::SignatureDef;

template <typename Map>
std::string NamesOf(const Map& map) {
  std::vector<std::string> names;
  for (const auto& [name, _] : map) {
    if (!engine::IsInternal(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

// NumPy's name of a type, for the advice how to convert an array.
std::string_view NumpyName(tensor::DType type) {
  switch (type) {
    case tensor::DType::kFloat: return "float32";
    case tensor::DType::kDouble: return "float64";
    case tensor::DType::kHalf: return "float16";
    case tensor::DType::kInt8: return "int8";
    case tensor::DType::kInt16: return "int16";
    case tensor::DType::kUint16: return "uint16";
    case tensor::DType::kInt32: return "int32";
    case tensor::DType::kInt64: return "int64";
    case tensor::DType::kUint8: return "uint8";
    case tensor::DType::kBool: return "bool";
    case tensor::DType::kString: return "S";
    default: return "";
  }
}

// Reinterprets integers as the quantised type `type` if both store values the same way, because .npy files have no
// quantised types.
Tensor AsType(const Tensor& given, tensor::DType type) {
  if (given.type() == type || given.type() != tensor::TypeInNpy(type)) return given;
  const auto held = std::make_shared<Tensor>(given);
  return Tensor::Wrap(type, given.shape(), held->mutable_data(), held);
}

// Does not compare shapes; an op rejects a shape that it cannot compute.
Status CheckFits(const Tensor& given, const tensorflow::TensorInfo& wanted) {
  const auto type = tensor::FromProto(wanted.dtype());
  if (given.type() == type) return {};
  const std::string_view numpy = NumpyName(tensor::TypeInNpy(type));
  return InvalidArgument("expected {} {}, got {} {}{}", DTypeName(type), tensor::ToString(tensor::PatternOf(wanted)),
                         DTypeName(given.type()), tensor::ToString(given.shape()),
                         numpy.empty() ? "" : fmt::format("; save x.astype(\"{}\")", numpy));
}

Result<Inputs> ReadFiles(const Options& options, const engine::LoadedModel& model) {
  Inputs inputs{.signature = SignatureOf(options), .tensors = {}};
  ASSIGN_OR_RETURN(const SignatureDef* signature, FindSignature(model.signatures(), inputs.signature));
  for (const auto& input : options.inputs) {
    const size_t at = input.find('=');
    const std::string name = input.substr(0, at);
    const std::string file = input.substr(at + 1);
    const auto bytes = ReadFile(file);
    if (!bytes) return Prefixed(bytes.error(), fmt::format("input \"{}\"", name));
    ASSIGN_OR_RETURN(inputs.tensors[name], ParseInput(*bytes, file, name, *signature));
  }
  return inputs;
}

Result<std::string> ReadJson(const std::string& file) {
  if (file == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  return ReadFile(file);
}

Result<Inputs> ParseInputs(std::string_view json, const std::string& signature, const engine::LoadedModel& model) {
  Inputs inputs;
  const auto find = [&](const std::string& named) -> Result<const SignatureDef*> {
    inputs.signature = signature.empty() ? named : signature;
    return FindSignature(model.signatures(), inputs.signature);
  };
  ASSIGN_OR_RETURN(frontend::json::Prediction read, frontend::json::PredictionFromJson(json, find, kElementsMax));
  const std::string& in_json = read.signature_name;
  if (!signature.empty() && !in_json.empty() && in_json != signature) {
    return InvalidArgument("the JSON has the signature name \"{}\", but --signature is \"{}\"", in_json, signature);
  }
  inputs.tensors = std::move(read.inputs);
  return inputs;
}

}  // namespace

std::string OtherShapes(const engine::TensorMap& inputs, const SignatureDef& signature) {
  std::string text;
  for (const auto& [name, given] : inputs) {
    const auto wanted = signature.inputs().find(name);
    if (wanted == signature.inputs().end()) continue;
    const auto pattern = tensor::PatternOf(wanted->second);
    if (tensor::Matches(given.shape(), pattern)) continue;
    text += fmt::format("; the input \"{}\" is {} {}, and the signature states {} {}", name, DTypeName(given.type()),
                        tensor::ToString(given.shape()), DTypeName(tensor::FromProto(wanted->second.dtype())),
                        tensor::ToString(pattern));
  }
  return text;
}

std::string SignatureOf(const Options& options) {
  return options.signature.empty() ? kDefaultSignature : options.signature;
}

Result<const SignatureDef*> FindSignature(const engine::Signatures& signatures, const std::string& name) {
  const auto found = signatures.find(name);
  if (found != signatures.end()) return &found->second;
  return InvalidArgument("the model has no signature \"{}\"; its signatures are: {}", name, NamesOf(signatures));
}

Result<Tensor> ParseInput(std::string_view npy, const std::string& where, const std::string& name,
                          const SignatureDef& signature) {
  const std::string what = fmt::format("input \"{}\"", name);
  const auto wanted = signature.inputs().find(name);
  if (wanted == signature.inputs().end())
    return InvalidArgument("{}: the signature has no such input; the inputs are: {}", what,
                           NamesOf(signature.inputs()));
  auto tensor = tensor::ParseNpy(npy);
  if (!tensor) return Prefixed(tensor.error(), what + ": " + where);
  *tensor = AsType(*tensor, tensor::FromProto(wanted->second.dtype()));
  if (const Status fits = CheckFits(*tensor, wanted->second); !fits) return Prefixed(fits.error(), what + ": " + where);
  return tensor;
}

Result<Inputs> ReadInputs(const Options& options, const engine::LoadedModel& model) {
  if (options.inputs_file.empty()) return ReadFiles(options, model);
  ASSIGN_OR_RETURN(const std::string json, ReadJson(options.inputs_file));
  auto inputs = ParseInputs(json, options.signature, model);
  if (!inputs) return Prefixed(inputs.error(), options.inputs_file == "-" ? "standard input" : options.inputs_file);
  return inputs;
}

}  // namespace longshore::inspect
