// The graph that an engine plans: flat, in order, without functions.
//
// Build takes what some outputs of a GraphDef need: calls of functions are inlined, TensorFlow 1's reference variables
// become resource variables (VariableV2 -> VarHandleOp and ReadVariableOp, Assign -> AssignVariableOp), and what
// nothing needs is left out.
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
  std::string op;     // "BiasAdd", "AddV2", "Relu".
  std::string name;   // Of the node that it was.
  int operand = -1;   // The position among the node's inputs of the second one; -1: there is none.
  float alpha = 0;    // Of LeakyRelu.
};

struct Node {
  std::string name;  // With the names of the calls that led to it: "StatefulPartitionedCall/model/dense/MatMul".
  std::string op;
  Attributes attributes = {};
  std::vector<Edge> inputs = {};
  bool has_effect = false;  // Changes a variable or a table, or may refuse (Assert): runs although nothing reads it.
  // Done to the first output, one after the other, by whoever computes the node: bias, activation, residual.
  std::vector<Fused> then = {};
  // What a pass has computed: the outputs of the node, whose op is "Const" then.
  std::vector<tensor::Tensor> values = {};
};

struct Graph {
  std::vector<Node> nodes;         // Every node comes after what it needs, data or control.
  std::map<std::string, int> fed;  // Tensor name -> the node, with op "Placeholder", whose value the caller gives.
  std::vector<Edge> outputs;       // In the order of Wanted::outputs.
};

inline constexpr int kFunctionDepthMax = 64;
inline constexpr size_t kNodesMax = 1'000'000;
inline constexpr size_t kCallsMax = 100'000;  // Of functions: some that call each other twice are soon too many.

struct Wanted {
  std::vector<std::string> feeds;    // Tensors whose value the caller gives: "serving_default_x:0".
  std::vector<std::string> outputs;  // Tensors to compute: "StatefulPartitionedCall:0".
  std::vector<std::string> targets;  // Nodes to run for their effect: "init".
};

// DataLoss when names do not fit together or the graph has a cycle; Unimplemented for recursive functions, functions
// nested deeper than kFunctionDepthMax and loops of TensorFlow 1; ResourceExhausted above kNodesMax nodes or kCallsMax
// calls.
Result<Graph> Build(const tensorflow::GraphDef& def, const Wanted& wanted);

}  // namespace longshore::graph
