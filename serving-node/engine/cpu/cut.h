// Cuts a graph where shapes are known only in the run, so that the part behind the cut can be compiled for the shapes
// that arrive. See docs/decisions/0021-graphs-are-cut-where-shapes-end.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "serving-node/graph/graph.h"
#include "serving-node/graph/types.h"

namespace longshore::engine::cpu {

// A graph in two parts. The head runs first; then the shapes of all inputs of the tail are known.
struct Cut {
  graph::Graph head;
  // Is fed the values that the graph is fed and the values that the head makes: those in `crossing`.
  graph::Graph tail;
  std::vector<std::string> crossing;  // The names in tail.fed of the first outputs of the head, in their order.
  // For each output of the graph, its position in the outputs of the head followed by those of the tail.
  std::vector<size_t> outputs;
};

// Returns the graph cut before the first nodes that the CPU engine computes fast only for known shapes, if their shapes
// are not known; nullopt if there are no such nodes. `types` has the types of the graph for fed values of known shapes.
// All nodes that need results of the tail are in the tail; nodes that read or change variables and tables keep their
// order. In the tail, at least one more such node has known shapes.
std::optional<Cut> CutWhereShapesEnd(const graph::Graph& graph, const graph::Types& types);

}  // namespace longshore::engine::cpu
