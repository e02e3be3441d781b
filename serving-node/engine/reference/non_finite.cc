// Finds the node that made the first NaN or Inf of a run.
#include <algorithm>
#include <unordered_map>

#include "serving-node/engine/reference/kernels/tensor_list.h"
#include "serving-node/engine/reference/plan.h"
#include "serving-node/tensor/finite.h"

namespace longshore::engine::reference {
namespace {

using tensor::Tensor;

bool IsBad(const Tensor& value) {
  const auto* list = kernels::ListOf(value);
  if (list == nullptr) return tensor::HasNonFinite(value);
  for (int64_t i = 0; i < list->size(); ++i) {
    if (IsBad(list->at(i))) return true;
  }
  return false;
}

// Which node made the values that are not finite, by where they lie. What lay there before is forgotten.
class Origins {
 public:
  void Note(const Tensor& value, const graph::Node* node) {
    if (IsBad(value))
      made_[value.data()] = node;
    else
      made_.erase(value.data());
  }
  const graph::Node* Of(const Tensor& value) const {
    const auto found = made_.find(value.data());
    return found == made_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<const std::byte*, const graph::Node*> made_;
};

}  // namespace

// A value that is not finite came from the first of the node's inputs that was not finite either, and from the node
// itself where all were finite. What a run ends with is traced back so to one node, into the bodies of loops and
// branches too; infinities that vanish on the way, as in a mask, are nobody's fault.
Result<std::optional<Plan::Origin>> Plan::FindNonFinite(const std::map<std::string, Tensor>& fed,
                                                        kernels::Resources& resources, size_t memory_bytes_max,
                                                        const kernels::RunLimits& limits) const {
  Origins origins;
  for (const auto& [name, node] : graph_.fed) {
    const auto given = fed.find(name);
    if (given != fed.end()) origins.Note(given->second, &graph_.nodes[static_cast<size_t>(node)]);
  }
  const auto trace = [&](const graph::Node& node, std::span<const Tensor> inputs, const std::vector<Tensor>& outputs) {
    const auto bad = std::ranges::find_if(inputs, IsBad);
    const graph::Node* blamed = bad == inputs.end() ? nullptr : origins.Of(*bad);
    for (const auto& output : outputs) {
      // What a body made was traced there.
      if (node.bodies.empty() || origins.Of(output) == nullptr)
        origins.Note(output, blamed == nullptr ? &node : blamed);
    }
  };
  ASSIGN_OR_RETURN(const auto outputs, Run(fed, {}, resources, memory_bytes_max, trace, limits));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!IsBad(outputs[i])) continue;
    const graph::Node* node = origins.Of(outputs[i]);
    if (node == nullptr) continue;  // Known since load.
    return Origin{.output = i, .node = node->name, .op = node->op};
  }
  return std::nullopt;
}

}  // namespace longshore::engine::reference
