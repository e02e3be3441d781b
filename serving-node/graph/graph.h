// The graph that an engine plans: flat and in order, without functions but for the bodies of If, Case and While.
//
// Build takes what some outputs of a GraphDef need: calls of functions are inlined, TensorFlow 1's reference variables
// become resource variables (VariableV2 -> VarHandleOp and ReadVariableOp, Assign -> AssignVariableOp), its Switch and
// Merge become If, its Enter to Exit become While, and what nothing needs is left out.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "serving-node/graph/attributes.h"
#include "tensorflow/graph.pb.h"

namespace longshore::graph {

// Output `output` of node `node`.
struct Edge {
  int node = -1;
  int output = 0;

  friend bool operator==(const Edge&, const Edge&) = default;
};

// An element-wise op that a pass has drawn into the node before it. Its first operand is what was computed so far.
struct Fused {
  std::string op;    // "BiasAdd", "AddV2", "Relu".
  std::string name;  // Of the node that it was.
  int operand = -1;  // The position among the node's inputs of the second one; -1: there is none.
  float alpha = 0;   // Of LeakyRelu.
};

struct Node {
  std::string name;  // With the names of the calls that led to it: "StatefulPartitionedCall/model/dense/MatMul".
  std::string op;
  Attributes attributes = {};
  std::vector<Edge> inputs = {};
  bool has_effect = false;  // Changes a variable or a table, or may refuse (Assert): runs although nothing reads it.
  // Done to the first output, one after the other, by whoever computes the node: bias, activation, residual.
  std::vector<Fused> then = {};
  // What a pass has computed: the outputs of the node, whose op is "Const" or kKnown (types.h) then.
  std::vector<tensor::Tensor> values = {};
  // Positions in the bodies of the whole graph. If: where the condition holds, where not. Case: the branches. While:
  // the condition, the step. What follows the condition of If and the index of Case are the arguments of each body.
  std::vector<int> bodies = {};
};

struct Graph {
  std::vector<Node> nodes;         // Every node comes after what it needs, data or control.
  std::map<std::string, int> fed;  // Tensor name -> the node, with op "Placeholder", whose value the caller gives.
  std::vector<Edge> outputs;       // In the order of Wanted::outputs; of a body: what it returns.
  std::vector<int> arguments;      // Of a body: the node, with op "Placeholder", of each argument.
  // Of the whole graph, for all its nodes and those of its bodies, which have none of their own: so a body can have
  // several users, itself among them. What nothing needs is an empty graph here.
  std::vector<Graph> bodies;
};

// Where the nodes of a graph and those of the bodies it needs are wanted alike: f(node) for each.
template <typename F>
void ForEachNode(const Graph& graph, const F& f) {
  for (const auto& node : graph.nodes) f(node);
  for (const auto& body : graph.bodies) ForEachNode(body, f);
}

inline constexpr int kFunctionDepthMax = 64;  // Of calls and bodies within each other.
inline constexpr size_t kNodesMax = 1'000'000;
inline constexpr size_t kEdgesMax = 5'000'000;  // What nodes read, and what calls, conditions and loops take and give.
inline constexpr int kOutputsMax = 100'000;     // Of one node.
// Of functions: some that call each other twice are soon too many. What follows of a function counts for each call.
inline constexpr size_t kCallsMax = 100'000;
// Names and attributes of all nodes: twice what a file may hold.
inline constexpr size_t kAttributeBytesMax = size_t{4} << 30;

struct Wanted {
  std::vector<std::string> feeds;    // Tensors whose value the caller gives: "serving_default_x:0".
  std::vector<std::string> outputs;  // Tensors to compute: "StatefulPartitionedCall:0".
  std::vector<std::string> targets;  // Nodes to run for their effect: "init".
};

// DataLoss when names or numbers of arguments do not fit together or the graph has a cycle; Unimplemented for functions
// that call themselves other than in a branch, functions nested deeper than kFunctionDepthMax and control flow of
// TensorFlow 1 that is not written as TensorFlow writes it; ResourceExhausted above kNodesMax, kEdgesMax, kCallsMax or
// kAttributeBytesMax.
Result<Graph> Build(const tensorflow::GraphDef& def, const Wanted& wanted);

}  // namespace longshore::graph
