// A pass that removes nodes that are not needed.
#pragma once

#include "serving-node/graph/graph.h"

namespace longshore::graph {

// Sets has_effect on every node whose op has an effect, and on every node with a body that contains such a node.
Graph MarkEffects(Graph graph);

// Keeps the nodes that an output or a node with an effect needs, and all fed nodes and arguments. Does not look at
// bodies.
Graph PruneNodes(Graph graph);

// PruneNodes for the graph and each of its bodies. Bodies that are no longer used become empty graphs. The order of
// nodes does not change.
Graph Prune(Graph graph);

}  // namespace longshore::graph
