// A graph being written again, node after node: what passes are made of.
#pragma once

#include <optional>
#include <vector>

#include "serving-node/graph/graph.h"
#include "serving-node/graph/types.h"

namespace longshore::graph::passes {

// Call Keep, Replace or Put for each node of `from` in its order, then Take.
class Rewrite {
 public:
  explicit Rewrite(const Graph& from);

  const Graph& from() const { return from_; }

  // How many inputs and outputs of the graph read this node's output, and whether one of them is an output of the
  // graph.
  int uses(const Edge& edge) const;
  bool is_output(const Edge& edge) const;
  size_t outputs_read(size_t node) const { return uses_[node].size(); }  // The last of them and those before it.
  // Whether nothing but one node reads it.
  bool has_one_reader(const Edge& edge) const { return uses(edge) == 1 && !is_output(edge); }

  // The edge of the new graph that stands for an edge of the old one. Requires: its node was seen.
  Edge Mapped(const Edge& edge) const;
  const Node& At(const Edge& mapped) const { return to_.nodes[static_cast<size_t>(mapped.node)]; }

  // A node of the new graph, its inputs being edges of the new graph.
  Edge Add(Node node);
  Edge AddConst(const std::string& name, tensor::Tensor value);

  // The old node as it is.
  void Keep(size_t node);
  // Whoever read output `i` of the old node reads outputs[i] now.
  void Replace(size_t node, std::vector<Edge> outputs);

  bool has_replaced() const { return has_replaced_; }

  // The new graph without what nothing needs any more, and without bodies.
  Graph Take();

 private:
  const Graph& from_;
  Graph to_;
  std::vector<std::vector<int>> uses_;  // By old node and output.
  std::vector<std::vector<bool>> is_output_;
  std::vector<int> moved_;  // By old node: where it is, where it was kept.
  bool has_replaced_ = false;
  std::vector<std::vector<Edge>> replaced_;  // By old node: what is read instead.
};

// Where a pass puts one node in place of several: Matching(rewrite, types).At(node) gives what was found to end there,
// write(found, node, rewrite) the edge that stands for it. nullopt: nothing was found.
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

// What is known to be one float.
std::optional<float> NumberOf(const Types& types, const Edge& edge);

// The value of a node that a pass, or the reading of the file, has computed; nullptr for every other.
const tensor::Tensor* ConstOf(const Graph& graph, const Edge& edge);

}  // namespace longshore::graph::passes
