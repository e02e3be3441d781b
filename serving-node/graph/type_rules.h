// Type rules: for each op, the types of its outputs for given input types.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "serving-node/graph/types.h"

namespace longshore::graph {

using TypeRule = std::vector<Type> (*)(const Node& node, std::span<const Type> inputs);

// nullptr if the op has no rule of this kind. A rule returns an empty list if it cannot tell the types.
TypeRule FindElementwiseRule(std::string_view op);
TypeRule FindProductRule(std::string_view op);
TypeRule FindReductionRule(std::string_view op);
TypeRule FindListRule(std::string_view op);

// For ops that only move elements, such as Reshape: the inference finds their output shapes by running them on zeros.
// Bit i is set if the output shape depends on the shape of input i alone, so that zeros may replace it. 0 for every
// other op.
uint32_t InputsMoved(const Node& node);

}  // namespace longshore::graph
