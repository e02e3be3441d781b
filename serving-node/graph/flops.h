// The number of arithmetic operations of a node, for tools. Exact for matrix products and convolutions, 0 for ops that
// only move elements, and one per output element for most other ops.
#pragma once

#include <cstdint>
#include <vector>

#include "serving-node/graph/graph.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::graph {

// `inputs`, `outputs`: the shapes in a run. A MatMul of [2,3] and [3,4] has 48 FLOP: 24 multiplications and 24
// additions. Unknown ops and loops count one operation per output element.
int64_t Flops(const Node& node, const std::vector<tensor::Shape>& inputs, const std::vector<tensor::Shape>& outputs);

}  // namespace longshore::graph
