// Recognises the control flow of TensorFlow 1 in a list of nodes: conditions (Switch ... Merge) and loops
// (Enter ... Exit).
//
//   x ─► Switch(p) ─1─► ... ─► Merge      x ─► Enter ─► Merge ─► Switch(LoopCond) ─1─► ... ─► NextIteration
//            └─────0─► ... ──────┘                         ▲             └─0─► Exit                │
//                                                          └───────────────────────────────────────┘
// Only nodes that the wanted outputs and targets (the roots) need are examined: a training graph has loops for its
// gradients that serving never uses.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/error.h"
#include "serving-node/graph/names.h"
#include "tensorflow/graph.pb.h"

namespace longshore::graph {

using NodeIndex = std::unordered_map<std::string, const tensorflow::NodeDef*>;

// Strings are references to outputs, written as in NodeDef.input ("cond/Switch:1", or in a function
// "cond/Switch:output_true:0"), except where a comment says that they are node names.
struct ConditionV1 {
  struct Argument {
    std::string inside;   // The reference that nodes in the branches use.
    std::string outside;  // The reference to the same value outside of the condition.
  };
  std::string predicate;
  std::vector<std::string> merges;  // The names of the Merge nodes, which are the outputs of the condition.
  // results[branch][i] is the value that merges[i] gets from the branch: branch 0 if the predicate is false, else 1.
  std::vector<std::vector<std::string>> results{2};
  std::vector<Argument> arguments;
  std::vector<std::string> before;  // Control inputs from outside of the condition.
};

struct LoopV1 {
  struct Variable {
    std::string first;               // The reference to the value before the first step.
    std::string merge, switch_node;  // Node names.
    std::string next;                // The reference to the value after a step.
    std::vector<std::string> exits;  // Node names.
  };
  struct Constant {
    std::string enter;  // A node name.
    std::string value;  // The reference to the value outside of the loop.
  };
  std::string frame;
  std::string condition;
  std::vector<Variable> variables;
  std::vector<Constant> constants;
  std::vector<std::string> before;  // Control inputs from outside of the loop.
};

class ControlFlowV1 {
 public:
  // Finds the control flow that the roots need. Returns nullptr if there is none. Nodes in `known` have values already
  // and are not examined. Errors: Unimplemented, with the node's name, if the nodes do not follow TensorFlow's pattern;
  // DataLoss for a cycle; ResourceExhausted if the search would follow more than kEdgesMax edges.
  static Result<std::shared_ptr<const ControlFlowV1>> Find(const NodeIndex& nodes,
                                                           const std::vector<std::string>& roots,
                                                           const std::set<std::string>& known);

  // ConditionOf returns nullptr if the node is not the Merge of a condition, LoopOf if it is not the Exit of a loop.
  const ConditionV1* ConditionOf(const std::string& merge) const;
  const LoopV1* LoopOf(const std::string& exit) const;

 private:
  friend class ControlFlowV1Finder;
  std::vector<ConditionV1> conditions_;
  std::vector<LoopV1> loops_;
  std::unordered_map<std::string, size_t> condition_of_;  // Key: the name of the Merge node.
  std::unordered_map<std::string, size_t> loop_of_;       // Key: the name of the Exit node.
};

}  // namespace longshore::graph
