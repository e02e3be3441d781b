// Cuts a graph where shapes are known only in the run, so that the part behind the cut can be compiled for the shapes
// that arrive. See docs/decisions/0021-graphs-are-cut-where-shapes-end.md.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "serving-node/graph/graph.h"
#include "serving-node/graph/types.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::cpu {

// A graph in two parts. The head runs first; then the shapes of all inputs of the tail are known.
struct Cut {
  graph::Graph head;
  // Is fed the values that the graph is fed and the values that the head makes: those in `crossing`.
  graph::Graph tail;
  std::vector<std::string> crossing;  // The names in tail.fed of the first outputs of the head, in their order.
  // For each output of the graph, its position in the outputs of the head followed by those of the tail.
  std::vector<size_t> outputs;

  // Returns what to feed to the tail: values of `fed`, which the graph was fed, and outputs of the head.
  std::map<std::string, tensor::Tensor> Feeds(const std::map<std::string, tensor::Tensor>& fed,
                                              std::span<const tensor::Tensor> of_head) const;
  // Returns the outputs of the graph, from those of its two parts.
  std::vector<tensor::Tensor> Outputs(std::span<const tensor::Tensor> of_head,
                                      std::span<const tensor::Tensor> of_tail) const;
};

// Cuts the graph before the first sums (IsSum) whose input shapes are unknown, and before the nodes with fast steps
// that lead to them. Returns nullopt if the graph has no such sum. `types` has the types of the graph for fed values of
// known shapes. All nodes that need results of the tail are in the tail; a node that changes a variable or table keeps
// its order among all that use them. In the tail, at least one more such sum has known shapes.
std::optional<Cut> CutWhereShapesEnd(const graph::Graph& graph, const graph::Types& types);

}  // namespace longshore::engine::cpu
