// A pass: what nothing needs is left out.
#pragma once

#include "serving-node/graph/graph.h"

namespace longshore::graph {

// Keeps what an output or a node with an effect needs, and all that is fed. The order stays.
Graph Prune(Graph graph);

}  // namespace longshore::graph
