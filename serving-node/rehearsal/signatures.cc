#include "serving-node/rehearsal/signatures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

namespace longshore::rehearsal {
namespace {

using Infos = google::protobuf::Map<std::string, tensorflow::TensorInfo>;
using tensorflow::SignatureDef;
using tensorflow::TensorInfo;
using tensorflow::TensorShapeProto;

// TensorFlow's internal signatures, such as __saved_model_init_op. Clients do not call them.
bool IsInternal(const std::string& signature) { return signature.starts_with("__"); }

std::string TypeName(const TensorInfo& info) {
  std::string name = tensorflow::DataType_Name(info.dtype()).substr(3);  // Removes "DT_".
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::string Described(const TensorInfo& info) {
  if (info.tensor_shape().unknown_rank()) return TypeName(info) + " of any shape";
  std::vector<int64_t> sizes;
  for (const auto& dim : info.tensor_shape().dim()) sizes.push_back(dim.size());
  return fmt::format("{} [{}]", TypeName(info), fmt::join(sizes, ","));
}

bool TakesAll(const TensorShapeProto& candidate, const TensorShapeProto& stable) {
  if (candidate.unknown_rank()) return true;
  if (stable.unknown_rank() || candidate.dim_size() != stable.dim_size()) return false;
  for (int i = 0; i < candidate.dim_size(); ++i) {
    if (candidate.dim(i).size() >= 0 && candidate.dim(i).size() != stable.dim(i).size()) return false;
  }
  return true;
}

// Sorts inputs or outputs by name, so that the same two versions always give the same text.
std::map<std::string, TensorInfo> Sorted(const Infos& infos) { return {infos.begin(), infos.end()}; }

std::string InputChange(const SignatureDef& stable, const SignatureDef& candidate) {
  for (const auto& [name, before] : Sorted(stable.inputs())) {
    const auto now = candidate.inputs().find(name);
    if (now == candidate.inputs().end()) return fmt::format("input \"{}\" is gone", name);
    if (now->second.dtype() != before.dtype() || !TakesAll(now->second.tensor_shape(), before.tensor_shape())) {
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
    if (IsInternal(name)) continue;
    const auto now = candidate.find(name);
    if (now == candidate.end()) return fmt::format("signature \"{}\" is gone", name);
    std::string change = InputChange(before, now->second);
    if (change.empty()) change = OutputChange(before, now->second);
    if (!change.empty()) return fmt::format("signature \"{}\": {}", name, change);
  }
  return "";
}

}  // namespace longshore::rehearsal
