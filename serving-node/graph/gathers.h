// A pass for models whose variables are never written after loading.
#pragma once

#include "serving-node/graph/graph.h"

namespace longshore::graph {

// Replaces ResourceGather(variable) by Gather(ReadVariableOp(variable)), so that constant folding can replace the
// ReadVariableOp by the variable's value.
Graph ReadBeforeGather(Graph graph);

}  // namespace longshore::graph
