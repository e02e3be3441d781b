// Finds the node that made the first NaN or Inf of a run.
#include <algorithm>

#include "serving-node/engine/reference/plan.h"
#include "serving-node/tensor/finite.h"

namespace longshore::engine::reference {
namespace {

using tensor::HasNonFinite;
using tensor::Tensor;

}  // namespace

// A value that is not finite came from the first of the node's inputs that was not finite either, and from the node
// itself where all were finite. What a run ends with is traced back so to one node; infinities that vanish on the way,
// as in a mask, are nobody's fault.
Result<std::optional<Plan::Origin>> Plan::FindNonFinite(const std::map<std::string, Tensor>& fed,
                                                        kernels::Resources& resources, size_t memory_bytes_max) const {
  constexpr int kFinite = -1;
  std::vector<int> origins(graph_.nodes.size(), kFinite);
  for (const auto& [name, node] : graph_.fed) {
    const auto given = fed.find(name);
    if (given != fed.end() && HasNonFinite(given->second)) origins[static_cast<size_t>(node)] = node;
  }
  const auto trace = [&](size_t node, const std::vector<Tensor>& outputs) {
    if (std::ranges::none_of(outputs, HasNonFinite)) return;
    const auto& inputs = graph_.nodes[node].inputs;
    const auto bad = std::ranges::find_if(
        inputs, [&](const graph::Edge& input) { return origins[static_cast<size_t>(input.node)] != kFinite; });
    origins[node] = bad == inputs.end() ? static_cast<int>(node) : origins[static_cast<size_t>(bad->node)];
  };
  ASSIGN_OR_RETURN(const auto outputs, Run(fed, {}, resources, memory_bytes_max, trace));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int origin = origins[static_cast<size_t>(graph_.outputs[i].node)];
    if (origin == kFinite || !HasNonFinite(outputs[i])) continue;
    const graph::Node& node = graph_.nodes[static_cast<size_t>(origin)];
    return Origin{.output = i, .node = node.name, .op = node.op};
  }
  return std::nullopt;
}

}  // namespace longshore::engine::reference
