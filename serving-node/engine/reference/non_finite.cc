#include <algorithm>

#include "serving-node/engine/reference/kernels/tensor_list.h"
#include "serving-node/engine/reference/plan.h"
#include "serving-node/tensor/finite.h"

namespace longshore::engine::reference {

using tensor::Tensor;

bool IsBad(const Tensor& value) {
  const auto* list = kernels::ListOf(value);
  if (list == nullptr) return tensor::HasNonFinite(value);
  for (int64_t i = 0; i < list->size(); ++i) {
    if (IsBad(list->at(i))) return true;
  }
  return false;
}

namespace {

Maker MakerOf(const graph::Node& node) { return {.node = node.name, .op = node.op}; }

}  // namespace

// A value that is not finite came from the first of the node's inputs that was not finite either, and from the node
// itself where all were finite. What a run ends with is traced back so to one node, into the bodies of loops and
// branches too; infinities that vanish on the way, as in a mask, are nobody's fault.
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
    const auto bad = std::ranges::find_if(inputs, IsBad);
    const Maker* blamed = bad == inputs.end() ? nullptr : origins.Of(bad->data());
    const Maker maker = blamed == nullptr ? MakerOf(node) : *blamed;
    for (const auto& output : outputs) {
      // What a body made was traced there.
      if (node.bodies.empty() || origins.Of(output.data()) == nullptr) note(output, maker);
    }
  };
  ASSIGN_OR_RETURN(const auto outputs, Run(fed, {}, resources, memory_bytes_max, trace, limits));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Maker* maker = IsBad(outputs[i]) ? origins.Of(outputs[i].data()) : nullptr;
    if (maker != nullptr) return Origin{.output = i, .maker = *maker};
  }
  return std::nullopt;
}

}  // namespace longshore::engine::reference
