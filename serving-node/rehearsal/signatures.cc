#include "serving-node/rehearsal/signatures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

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

std::string InputChange(const SignatureDef& stable, const SignatureDef& candidate) {
  for (const auto& [name, before] : Sorted(stable.inputs())) {
    const auto now = candidate.inputs().find(name);
    if (now == candidate.inputs().end()) return fmt::format("input \"{}\" is gone", name);
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
    if (now == candidate.end()) return fmt::format("signature \"{}\" is gone", name);
    std::string change = InputChange(before, now->second);
    if (change.empty()) change = OutputChange(before, now->second);
    if (!change.empty()) return fmt::format("signature \"{}\": {}", name, change);
  }
  return "";
}

}  // namespace longshore::rehearsal
