// A pass for models whose variables are never written after loading.
#pragma once

#include "serving-node/graph/graph.h"

namespace longshore::graph {

// Replaces ResourceGather(variable) by Gather(ReadVariableOp(variable)), so that the value read can be folded to a
// constant like that of any other read.
Graph ReadBeforeGather(Graph graph);

}  // namespace longshore::graph
