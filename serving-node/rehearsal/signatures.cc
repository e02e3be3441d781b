#include "serving-node/rehearsal/signatures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include "serving-node/tensor/info.h"

namespace longshore::rehearsal {
namespace {

using Infos = google::protobuf::Map<std::string, tensorflow::TensorInfo>;
using tensorflow::SignatureDef;
using tensorflow::TensorInfo;

std::string TypeName(const TensorInfo& info) {
  std::string name = tensorflow::DataType_Name(info.dtype()).substr(3);  // Removes "DT_".
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::string Described(const TensorInfo& info) {
  const auto pattern = tensor::PatternOf(info);
  return TypeName(info) + (pattern ? " " + tensor::ToString(pattern) : " of any shape");
}

bool TakesAll(const TensorInfo& candidate, const TensorInfo& stable) {
  const auto taken = tensor::PatternOf(candidate), given = tensor::PatternOf(stable);
  return !taken || (given && tensor::Matches(*given, taken));
}

// Sorts inputs or outputs by name, so that the same two versions always give the same text.
std::map<std::string, TensorInfo> Sorted(const Infos& infos) { return {infos.begin(), infos.end()}; }

std::string Quoted(const std::vector<std::string>& names) {
  return names.empty() ? "" : fmt::format("\"{}\"", fmt::join(names, "\", \""));
}

// Names what the candidate has instead of the input: Keras numbers the inputs to which nobody gives a name.
std::string InputIsGone(const std::string& name, const SignatureDef& stable, const SignatureDef& candidate) {
  std::vector<std::string> added;
  for (const auto& [other, _] : Sorted(candidate.inputs())) {
    if (!stable.inputs().contains(other)) added.push_back(other);
  }
  const std::string gone = fmt::format("input \"{}\" is gone", name);
  if (added.empty()) return gone;
  return fmt::format(
      "{}, and {} is new; give the input this name when the version is exported, in Keras with "
      "keras.Input(..., name=\"{}\")",
      gone, Quoted(added), name);
}

// Names what the candidate has instead of the signature.
std::string SignatureIsGone(const std::string& name, const Signatures& candidate) {
  std::vector<std::string> names;
  for (const auto& [other, _] : candidate) {
    if (!engine::IsInternal(other)) names.push_back(other);
  }
  std::ranges::sort(names);
  std::string text = fmt::format("signature \"{}\" is gone", name);
  if (!names.empty()) text += "; this version has " + Quoted(names);
  // Of the two ways to export a Keras model, only one writes this signature.
  if (name == "serve") text += "; Keras' model.export writes serve, tf.saved_model.save does not: export as before";
  return text;
}

std::string InputChange(const SignatureDef& stable, const SignatureDef& candidate) {
  for (const auto& [name, before] : Sorted(stable.inputs())) {
    const auto now = candidate.inputs().find(name);
    if (now == candidate.inputs().end()) return InputIsGone(name, stable, candidate);
    if (now->second.dtype() != before.dtype() || !TakesAll(now->second, before)) {
      return fmt::format("input \"{}\" takes {} where stable takes {}", name, Described(now->second),
                         Described(before));
    }
    if (stable.defaults().contains(name) && !candidate.defaults().contains(name)) {
      return fmt::format("input \"{}\" no longer has a default", name);
    }
  }
  for (const auto& [name, now] : Sorted(candidate.inputs())) {
    const bool required = !stable.inputs().contains(name) && !candidate.defaults().contains(name);
    if (required) return fmt::format("input \"{}\" ({}) is new and has no default", name, Described(now));
  }
  return "";
}

std::string OutputChange(const SignatureDef& stable, const SignatureDef& candidate) {
  for (const auto& [name, before] : Sorted(stable.outputs())) {
    const auto now = candidate.outputs().find(name);
    if (now == candidate.outputs().end()) return fmt::format("output \"{}\" is gone", name);
    if (now->second.dtype() != before.dtype()) {
      return fmt::format("output \"{}\" is {} where stable's is {}", name, TypeName(now->second), TypeName(before));
    }
  }
  return "";
}

}  // namespace

std::string SignatureChange(const Signatures& stable, const Signatures& candidate) {
  for (const auto& [name, before] : std::map<std::string, SignatureDef>(stable.begin(), stable.end())) {
    if (engine::IsInternal(name)) continue;
    const auto now = candidate.find(name);
    if (now == candidate.end()) return SignatureIsGone(name, candidate);
    std::string change = InputChange(before, now->second);
    if (change.empty()) change = OutputChange(before, now->second);
    if (!change.empty()) return fmt::format("signature \"{}\": {}", name, change);
  }
  return "";
}

}  // namespace longshore::rehearsal
