#include "serving-node/engine/together.h"

namespace longshore::engine {
namespace {

constexpr char kSeparator = '/';

const tensorflow::TensorInfo* ExamplesOf(const tensorflow::SignatureDef& signature) {
  const auto input = signature.inputs().find(kExamplesInput);
  if (signature.inputs_size() != 1 || input == signature.inputs().end()) return nullptr;
  return input->second.dtype() == tensorflow::DT_STRING && !input->second.name().empty() ? &input->second : nullptr;
}

}  // namespace

std::string OutputOf(std::string_view signature, std::string_view output) {
  std::string name(signature);
  name += kSeparator;
  name += output;
  return name;
}

bool MayRunTogether(const tensorflow::SignatureDef& a, const tensorflow::SignatureDef& b) {
  return ExamplesOf(a) != nullptr && ExamplesOf(b) != nullptr;
}

bool IsOutputTogether(const google::protobuf::Map<std::string, tensorflow::SignatureDef>& all,
                      const tensorflow::SignatureDef& signature, const std::string& name) {
  const size_t separator = name.rfind(kSeparator);
  if (separator == name.npos) return false;
  const auto other = all.find(name.substr(0, separator));
  return other != all.end() && other->second.outputs().contains(name.substr(separator + 1)) &&
         MayRunTogether(signature, other->second);
}

std::optional<tensorflow::SignatureDef> MergedSignature(
    const google::protobuf::Map<std::string, tensorflow::SignatureDef>& all) {
  tensorflow::SignatureDef merged;
  int parts = 0;
  for (const auto& [name, signature] : all) {
    const tensorflow::TensorInfo* examples = ExamplesOf(signature);
    if (examples == nullptr) continue;
    (*merged.mutable_inputs())[examples->name()] = *examples;
    for (const auto& [output, info] : signature.outputs()) (*merged.mutable_outputs())[OutputOf(name, output)] = info;
    ++parts;
  }
  if (parts < 2) return std::nullopt;
  return merged;
}

}  // namespace longshore::engine
