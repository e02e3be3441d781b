// The graph that an engine plans: a flat list of nodes in execution order. Only If, Case and While have function
// bodies. build.h makes it from a GraphDef.
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

// An element-wise op that a pass has fused into the node before it. Its first operand is the result so far.
struct Fused {
  std::string op;    // "BiasAdd", "AddV2", "Relu".
  std::string name;  // The name of the original node.
  int operand = -1;  // The second operand, as a position among the node's inputs; -1: the op has one operand.
  float alpha = 0;   // For LeakyRelu.
};

struct Node {
  std::string name;  // With the names of the inlined calls as prefix: "StatefulPartitionedCall/model/dense/MatMul".
  std::string op;
  Attributes attributes = {};
  std::vector<Edge> inputs = {};
  bool has_effect = false;  // Changes a variable or a table, or may fail (Assert): runs even if nothing reads it.
  // Element-wise ops applied in this order to the first output: bias, activation, residual.
  std::vector<Fused> then = {};
  // The outputs, if they are constant. The op is "Const" or kKnown (types.h) then.
  std::vector<tensor::Tensor> values = {};
  // Positions in `bodies` of the main graph. If: the branch for true, the branch for false. Case: the branches. While:
  // the condition, the step. The arguments of each body are the node's inputs, without the predicate of If and the
  // index of Case.
  std::vector<int> bodies = {};
};

struct Graph {
  std::vector<Node> nodes;         // Every node comes after its data and control inputs.
  std::map<std::string, int> fed;  // Tensor name -> the node, with op "Placeholder", whose value the caller gives.
  std::vector<Edge> outputs;       // In the order of Wanted::outputs; for a body: the values that it returns.
  std::vector<int> arguments;      // For a body: the node, with op "Placeholder", of each argument.
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
