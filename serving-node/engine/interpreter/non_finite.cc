#include <algorithm>

#include "serving-node/engine/interpreter/plan.h"
#include "serving-node/engine/kernels/base/tensor_list.h"
#include "serving-node/tensor/finite.h"

namespace longshore::engine::interpreter {

using tensor::Tensor;

bool ContainsNonFinite(const Tensor& value) {
  const auto* list = kernels::ListOf(value);
  if (list == nullptr) return tensor::HasNonFinite(value);
  for (int64_t i = 0; i < list->size(); ++i) {
    if (ContainsNonFinite(list->at(i))) return true;
  }
  return false;
}

namespace {

Maker MakerOf(const graph::Node& node) { return {.node = node.name, .op = node.op}; }

}  // namespace

// The origin of a non-finite output is that of the node's first non-finite input, or the node itself if all its inputs
// are finite. This leads from the outputs of a run back to one node, possibly in the body of a loop or branch.
// Infinities that do not reach an output, such as those in a mask, are not reported.
Result<std::optional<Origin>> Plan::FindNonFinite(const std::map<std::string, Tensor>& fed,
                                                  kernels::Resources& resources, size_t memory_bytes_max,
                                                  const kernels::RunLimits& limits) const {
  Origins<const std::byte*> origins;
  const auto note = [&](const Tensor& value, const Maker& maker) { origins.Note(value.data(), value, maker); };
  for (const auto& [name, node] : graph_.fed) {
    const auto given = fed.find(name);
    if (given != fed.end()) note(given->second, MakerOf(graph_.nodes[static_cast<size_t>(node)]));
  }
  const auto trace = [&](const graph::Node& node, std::span<const Tensor> inputs, const std::vector<Tensor>& outputs) {
    const auto bad = std::ranges::find_if(inputs, ContainsNonFinite);
    const Maker* blamed = bad == inputs.end() ? nullptr : origins.Of(bad->data());
    const Maker maker = blamed == nullptr ? MakerOf(node) : *blamed;
    for (const auto& output : outputs) {
      // An output that a body made has an origin already.
      if (node.bodies.empty() || origins.Of(output.data()) == nullptr) note(output, maker);
    }
  };
  ASSIGN_OR_RETURN(const auto outputs, Run(fed, {}, resources, memory_bytes_max, trace, limits));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Maker* maker = ContainsNonFinite(outputs[i]) ? origins.Of(outputs[i].data()) : nullptr;
    if (maker != nullptr) return Origin{.output = i, .maker = *maker};
  }
  return std::nullopt;
}

}  // namespace longshore::engine::interpreter
