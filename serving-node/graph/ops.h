// The ops that have a row (op.h): the graph layer or the CPU engine must know something about them besides the kernel.
#pragma once

#include <span>
#include <string_view>

#include "serving-node/graph/op.h"

namespace longshore::graph {

// Returns the row of the op; for an op without a row, a row in which nothing is known. The reference stays valid until
// the process ends.
const Op& FindOp(std::string_view name);

// Returns the rows of all tables (op_families.h).
std::span<const Op> AllOps();

}  // namespace longshore::graph
