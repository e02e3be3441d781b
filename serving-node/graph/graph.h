// The graph from which an engine makes its execution plan: a flat list of nodes in execution order. Function calls are
// inlined; only If, Case and While have function bodies. build.h makes the graph from a GraphDef.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "serving-node/graph/attributes.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::graph {

// Output `output` of node `node`.
struct Edge {
  int node = -1;
  int output = 0;

  friend bool operator==(const Edge&, const Edge&) = default;
};

// An element-wise op that a pass has fused into the node before it. Its first operand is the result of that node and of
// the ops that were fused earlier.
struct Fused {
  std::string op;    // For example "BiasAdd", "AddV2" or "Relu".
  std::string name;  // The name of the original node.
  int operand = -1;  // The second operand, as a position among the node's inputs; -1: the op has one operand.
  float alpha = 0;   // The attribute "alpha" of LeakyRelu.
};

struct Node {
  std::string name;  // Begins with the names of the inlined calls: "StatefulPartitionedCall/model/dense/MatMul".
  std::string op;
  Attributes attributes = {};
  std::vector<Edge> inputs = {};
  // The node changes a variable or a table, or may fail (Assert), so it runs even if no other node reads its outputs.
  bool has_effect = false;
  // Element-wise ops applied in this order to the first output: bias, activation, residual.
  std::vector<Fused> then = {};
  // The values of the outputs if they are constant: `op` is then "Const" or kKnown (types.h). Otherwise empty.
  std::vector<tensor::Tensor> values = {};
  // Positions in `bodies` of the main graph. If: the branch for true, the branch for false. Case: the branches. While:
  // the condition, the step. The arguments of each body are the node's inputs, without the predicate of If and the
  // index of Case.
  std::vector<int> bodies = {};
};

struct Graph {
  std::vector<Node> nodes;         // Every node comes after its data and control inputs.
  std::map<std::string, int> fed;  // Key: the name of a tensor that the caller gives. Value: its "Placeholder" node.
  std::vector<Edge> outputs;       // In the order of Wanted::outputs; for a body: the values that it returns.
  std::vector<int> arguments;      // For a body: the "Placeholder" node of each argument.
  // Only the main graph has this list, for its own nodes and those of all bodies. So several nodes can use one body,
  // and a body can use itself. An unused body is an empty graph.
  std::vector<Graph> bodies;
};

// Calls f(node) for each node of the graph and of its bodies.
template <typename F>
void ForEachNode(const Graph& graph, const F& f) {
  for (const auto& node : graph.nodes) f(node);
  for (const auto& body : graph.bodies) ForEachNode(body, f);
}

}  // namespace longshore::graph
