// A pass for variables that nobody writes to.
#pragma once

#include "serving-node/graph/graph.h"

namespace longshore::graph {

// ResourceGather of a variable becomes Gather of what is read of it, which is then a constant like any other.
Graph ReadBeforeGather(Graph graph);

}  // namespace longshore::graph
