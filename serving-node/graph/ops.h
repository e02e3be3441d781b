// All ops that the graph layer and the CPU engine know more of than their kernel.
#pragma once

#include <span>
#include <string_view>

#include "serving-node/graph/op.h"

namespace longshore::graph {

// The row of the op; for any other op a row in which nothing is known. It is valid forever.
const Op& FindOp(std::string_view name);

// The rows of all families.
std::span<const Op> AllOps();

}  // namespace longshore::graph
