// How the types of an op's outputs follow from its inputs, op by op.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "serving-node/graph/types.h"

namespace longshore::graph {

using TypeRule = std::vector<Type> (*)(const Node& node, std::span<const Type> inputs);

// nullptr when the op has none. A rule returns nothing when it cannot say.
TypeRule FindElementwiseRule(std::string_view op);
TypeRule FindProductRule(std::string_view op);
TypeRule FindReductionRule(std::string_view op);
TypeRule FindListRule(std::string_view op);

// Ops that move elements about: their outputs' shapes are found by running them on zeros. Which inputs may stand for
// others of the same shape: bit i for input i. 0 for every other op.
uint32_t InputsMoved(const Node& node);

}  // namespace longshore::graph
