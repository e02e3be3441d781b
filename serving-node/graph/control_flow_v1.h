// Recognises the control flow of TensorFlow 1 in a list of nodes: conditions (Switch ... Merge) and loops
// (Enter ... Exit).
//
//   x ─► Switch(p) ─1─► ... ─► Merge      x ─► Enter ─► Merge ─► Switch(LoopCond) ─1─► ... ─► NextIteration
//            └─────0─► ... ──────┘                         ▲             └─0─► Exit                │
//                                                          └───────────────────────────────────────┘
// Looks only at nodes that the roots need: a training graph has loops for its gradients that serving never uses.
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

// Strings are references in the notation of nodes ("cond/Switch:1", or in a function "cond/Switch:output_true:0"),
// except where a comment says that they are node names.
struct ConditionV1 {
  struct Argument {
    std::string inside;   // The reference in the branches.
    std::string outside;  // The reference to the same value outside of the condition.
  };
  std::string predicate;
  std::vector<std::string> merges;                   // The Merge nodes (names): the outputs of the condition.
  std::vector<std::vector<std::string>> results{2};  // By branch (0: the predicate is false), then by merge.
  std::vector<Argument> arguments;
  std::vector<std::string> before;  // Control inputs from outside of the condition.
};

struct LoopV1 {
  struct Variable {
    std::string first;               // The value before the first step.
    std::string merge, switch_node;  // Node names.
    std::string next;                // The value after a step.
    std::vector<std::string> exits;  // Node names.
  };
  struct Constant {
    std::string enter;  // A node name.
    std::string value;  // The value outside of the loop.
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
  // and are not looked at. Errors: Unimplemented, with the node's name, if the nodes do not follow TensorFlow's
  // pattern; DataLoss for a cycle; ResourceExhausted above kEdgesMax.
  static Result<std::shared_ptr<const ControlFlowV1>> Find(const NodeIndex& nodes,
                                                           const std::vector<std::string>& roots,
                                                           const std::set<std::string>& known);

  // nullptr if the node is not the Merge of a condition, or not the Exit of a loop.
  const ConditionV1* ConditionOf(const std::string& merge) const;
  const LoopV1* LoopOf(const std::string& exit) const;

 private:
  friend class ControlFlowV1Finder;
  std::vector<ConditionV1> conditions_;
  std::vector<LoopV1> loops_;
  std::unordered_map<std::string, size_t> condition_of_;  // By Merge.
  std::unordered_map<std::string, size_t> loop_of_;       // By Exit.
};

}  // namespace longshore::graph
