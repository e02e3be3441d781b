#include "serving-node/graph/flops.h"

#include "serving-node/graph/ops.h"

namespace longshore::graph {

int64_t Flops(const Node& node, const std::vector<tensor::Shape>& inputs, const std::vector<tensor::Shape>& outputs) {
  if (outputs.empty()) return 0;
  // If one size of a shape is 0, the others may be so large that their product overflows 64 bits.
  const int64_t elements = tensor::ElementCount(outputs[0]).value_or(0);
  const FlopsRule rule = FindOp(node.op).flops;
  if (elements == 0 || rule == nullptr) return elements;
  return rule(node, inputs, outputs[0]).value_or(elements);
}

}  // namespace longshore::graph
