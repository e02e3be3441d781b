// The tables of ops, each in a file of its own: ops_elementwise.cc, ...
#pragma once

#include <span>

#include "serving-node/graph/op.h"

namespace longshore::graph {

std::span<const Op> ElementwiseOps();
std::span<const Op> ListOps();
std::span<const Op> MoveOps();
std::span<const Op> ProductOps();
std::span<const Op> ReductionOps();
std::span<const Op> StateOps();
std::span<const Op> TextOps();

}  // namespace longshore::graph
