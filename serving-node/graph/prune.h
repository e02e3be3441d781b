// A pass: what nothing needs is left out.
#pragma once

#include "serving-node/graph/graph.h"

namespace longshore::graph {

// Sets has_effect: of ops that have one, and of those with a body in which a node has.
Graph MarkEffects(Graph graph);

// Keeps what an output or a node with an effect needs, and all that is fed or given, of a graph's own nodes.
Graph PruneNodes(Graph graph);

// Keeps what an output or a node with an effect needs, and all that is fed; of the bodies likewise, and no body that no
// node kept uses. The order stays.
Graph Prune(Graph graph);

}  // namespace longshore::graph
