// How much arithmetic a node is, for tools: products exactly, of other ops one for each element that they make.
#pragma once

#include <cstdint>
#include <vector>

#include "serving-node/graph/graph.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::reference {

// The shapes that a node met in a run. [2,3] x [3,4] of a MatMul is 48: 24 multiplications and as many additions.
// An op that it does not know, a loop among them, counts as element-wise.
int64_t Flops(const graph::Node& node, const std::vector<tensor::Shape>& inputs,
              const std::vector<tensor::Shape>& outputs);

}  // namespace longshore::engine::reference
