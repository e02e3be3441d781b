#include "serving-node/engine/together.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "common/base/sorted_keys.h"

namespace longshore::engine {
namespace {

constexpr char kSeparator = '/';

// Returns the tensor of examples; null if the signature cannot run together with others.
const tensorflow::TensorInfo* ExamplesOf(const tensorflow::SignatureDef& signature) {
  const auto input = signature.inputs().find(kExamplesInput);
  if (signature.inputs_size() != 1 || input == signature.inputs().end()) return nullptr;
  if (input->second.dtype() != tensorflow::DT_STRING || input->second.name().empty()) return nullptr;
  const auto has_separator = [](const auto& output) { return output.first.find(kSeparator) != std::string::npos; };
  return std::ranges::any_of(signature.outputs(), has_separator) ? nullptr : &input->second;
}

}  // namespace

Error NoSuchOutput(const tensorflow::SignatureDef& signature, const std::string& name) {
  return InvalidArgument("{}{} Outputs expected to be in the set {{{}}}.", kNoSuchOutput, name,
                         fmt::join(SortedKeys(signature.outputs()), ","))
      .value();
}

std::string OutputOf(std::string_view signature, std::string_view output) {
  std::string name(signature);
  name += kSeparator;
  name += output;
  return name;
}

bool MayRunTogether(const tensorflow::SignatureDef& a, const tensorflow::SignatureDef& b) {
  return ExamplesOf(a) != nullptr && ExamplesOf(b) != nullptr;
}

std::optional<OutputTogether> FindTogether(const Signatures& all, const tensorflow::SignatureDef& signature,
                                           const std::string& name) {
  const size_t separator = name.rfind(kSeparator);
  if (separator == name.npos) return std::nullopt;
  const auto other = all.find(name.substr(0, separator));
  if (other == all.end() || !MayRunTogether(signature, other->second)) return std::nullopt;
  const auto output = other->second.outputs().find(name.substr(separator + 1));
  if (output == other->second.outputs().end()) return std::nullopt;
  return OutputTogether{.examples = ExamplesOf(other->second), .info = &output->second};
}

bool AskTogether(const Signatures& all, const tensorflow::SignatureDef& signature,
                 const std::vector<std::string>& names) {
  const auto is_own = [&](const std::string& name) { return signature.outputs().contains(name); };
  const auto is_together = [&](const std::string& name) { return FindTogether(all, signature, name).has_value(); };
  return std::ranges::none_of(names, is_own) && std::ranges::any_of(names, is_together);
}

std::optional<tensorflow::SignatureDef> MergedSignature(const Signatures& all) {
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
