// The tools of passes: a rewrite of a graph, node by node.
#pragma once

#include <optional>
#include <vector>

#include "serving-node/graph/graph.h"
#include "serving-node/graph/types.h"

namespace longshore::graph::passes {

// Call Keep or Replace for each node of `from` in order, then Take.
class Rewrite {
 public:
  explicit Rewrite(const Graph& from);

  const Graph& from() const { return from_; }

  // How many node inputs and graph outputs read this edge of `from`, and whether a graph output does.
  int uses(const Edge& edge) const;
  bool is_output(const Edge& edge) const;
  // One more than the number of the last output of the node that is read; 0 if none is read.
  size_t outputs_read(size_t node) const { return uses_[node].size(); }
  // Whether exactly one node input reads the edge and no graph output does.
  bool has_one_reader(const Edge& edge) const { return uses(edge) == 1 && !is_output(edge); }

  // The edge of the new graph that replaces an edge of the old one. Requires: its node was kept or replaced.
  Edge Mapped(const Edge& edge) const;
  const Node& At(const Edge& mapped) const { return to_.nodes[static_cast<size_t>(mapped.node)]; }

  // Adds a node to the new graph and returns its first output. Its inputs are edges of the new graph.
  Edge Add(Node node);
  Edge AddConst(const std::string& name, tensor::Tensor value);

  // Copies the old node unchanged.
  void Keep(size_t node);
  // Readers of output `i` of the old node read outputs[i] in the new graph.
  void Replace(size_t node, std::vector<Edge> outputs);

  bool has_replaced() const { return has_replaced_; }

  // The new graph, pruned, without bodies.
  Graph Take();

 private:
  const Graph& from_;
  Graph to_;
  std::vector<std::vector<int>> uses_;  // The number of readers, by old node and output.
  std::vector<std::vector<bool>> is_output_;
  std::vector<int> moved_;  // By old node: its position in the new graph; -1: it was not kept.
  bool has_replaced_ = false;
  std::vector<std::vector<Edge>> replaced_;  // By old node: the edges that replace its outputs.
};

// A pass that replaces a pattern of several nodes by one. Matching(rewrite, types).At(i) returns the match whose last
// node is `i`, if any; write(match, node, rewrite) adds the new node and returns its edge. Replaced returns nullopt if
// there is no match in the graph.
template <typename Matching, typename Write>
std::optional<Graph> Replaced(const Graph& graph, const Types& types, const Write& write) {
  Rewrite rewrite(graph);
  Matching matching(rewrite, types);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (const auto found = matching.At(i)) {
      rewrite.Replace(i, {write(*found, graph.nodes[i], rewrite)});
    } else {
      rewrite.Keep(i);
    }
  }
  return rewrite.has_replaced() ? std::optional(rewrite.Take()) : std::nullopt;
}

// Returns the value of the edge if it is known and a single float, nullopt otherwise.
std::optional<float> NumberOf(const Types& types, const Edge& edge);

// Returns the value of the edge if its node is a constant, nullptr otherwise.
const tensor::Tensor* ConstOf(const Graph& graph, const Edge& edge);

}  // namespace longshore::graph::passes
