#include "serving-node/inference/inputs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "serving-node/engine/together.h"
#include "serving-node/inference/inference.h"
#include "serving-node/tensor/proto.h"

namespace longshore::inference {
namespace {

using Names = std::set<std::string>;

template <typename Map>
Names NamesOf(const Map& map) {
  Names names;
  for (const auto& [name, unused] : map) names.insert(name);
  return names;
}

Names Without(const Names& names, const Names& others) {
  Names rest;
  std::ranges::set_difference(names, others, std::inserter(rest, rest.end()));
  return rest;
}

Status CheckInputNames(const tensorflow::serving::PredictRequest& request, const tensorflow::SignatureDef& signature) {
  const Names sent = NamesOf(request.inputs());
  const Names known = NamesOf(signature.inputs());
  const Names extra = Without(sent, known);
  const Names missing = Without(Without(known, NamesOf(signature.defaults())), sent);
  if (extra.empty() && missing.empty()) return {};
  return InvalidArgument(
      "input size does not match signature: {}!={} len({{{}}}) != len({{{}}}). Sent extra: {{{}}}. Missing but "
      "required: {{{}}}.",
      sent.size(), known.size(), fmt::join(sent, ","), fmt::join(known, ","), fmt::join(extra, ","),
      fmt::join(missing, ","));
}

Status CheckOutputNames(const tensorflow::serving::PredictRequest& request, const tensorflow::SignatureDef& signature,
                        const Signatures& all) {
  Names seen;
  for (const std::string& name : request.output_filter()) {
    if (!signature.outputs().contains(name) && !engine::IsOutputTogether(all, signature, name)) {
      return InvalidArgument("output tensor alias not found in signature: {} Outputs expected to be in the set {{{}}}.",
                             name, fmt::join(NamesOf(signature.outputs()), ","));
    }
    if (!seen.insert(name).second) return InvalidArgument("duplicate output tensor alias: {}", name);
  }
  return {};
}

// Counts the elements from the shapes, before memory is allocated. Ignores a tensor with an invalid shape, which the
// parser of its values rejects later.
Status CheckElements(const tensorflow::serving::PredictRequest& request, int64_t elements_max) {
  int64_t left = elements_max;
  for (const auto& [name, proto] : request.inputs()) {
    const auto shape = tensor::PatternFromProto(proto.tensor_shape());
    const auto count = tensor::ElementCount(shape.value_or(tensor::Shape()));
    if (count && (left -= std::min(left + 1, *count)) < 0) {
      return ResourceExhausted("the inputs have more than {} elements", elements_max);
    }
  }
  return {};
}

}  // namespace

Result<engine::RunRequest> ToRunRequest(const tensorflow::serving::PredictRequest& request,
                                        const Signatures& signatures, int64_t elements_max, size_t filled_bytes_max) {
  engine::RunRequest run;
  run.signature = SignatureName(request.model_spec());
  const auto signature = signatures.find(run.signature);
  if (signature == signatures.end())
    return FailedPrecondition("Serving signature key \"{}\" not found.", run.signature);
  RETURN_IF_ERROR(CheckInputNames(request, signature->second));
  RETURN_IF_ERROR(CheckOutputNames(request, signature->second, signatures));
  RETURN_IF_ERROR(CheckElements(request, elements_max));
  for (const auto& [name, proto] : request.inputs()) {
    auto values = tensor::FromProto(proto, filled_bytes_max);
    if (!values) return InvalidArgument("tensor parsing error: {}", name);
    run.inputs.emplace(name, std::move(*values));
  }
  run.outputs.assign(request.output_filter().begin(), request.output_filter().end());
  return run;
}

}  // namespace longshore::inference
