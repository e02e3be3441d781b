// Control flow as TensorFlow 1 wrote it, found again in a list of nodes: Switch and Merge as conditions, Enter to Exit
// as loops.
//
//   x ─► Switch(p) ─1─► ... ─► Merge      x ─► Enter ─► Merge ─► Switch(LoopCond) ─1─► ... ─► NextIteration
//            └─────0─► ... ──────┘                         ▲             └─0─► Exit                │
//                                                          └───────────────────────────────────────┘
// Only what some roots need is looked at: a graph for training has loops around its gradients that nobody serves.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/error.h"
#include "serving-node/graph/names.h"
#include "tensorflow/graph.pb.h"

namespace longshore::graph {

using NodeIndex = std::unordered_map<std::string, const tensorflow::NodeDef*>;

// References are as nodes have them: "cond/Switch:1", or in a function "cond/Switch:output_true:0".
struct OldCondition {
  struct Argument {
    std::string inside;   // What the branches read.
    std::string outside;  // Where its value comes from.
  };
  std::string predicate;
  std::vector<std::string> merges;                   // Nodes. What the condition gives, in this order.
  std::vector<std::vector<std::string>> results{2};  // By branch, 0 where the predicate is false, and by merge.
  std::vector<Argument> arguments;
  std::vector<std::string> before;  // Nodes outside that a branch waits for.
};

struct OldLoop {
  struct Variable {
    std::string first;  // Its value before the first step.
    std::string merge, switch_node;
    std::string next;  // Its value after a step.
    std::vector<std::string> exits;
  };
  struct Constant {
    std::string enter;
    std::string value;
  };
  std::string frame;
  std::string condition;
  std::vector<Variable> variables;
  std::vector<Constant> constants;
  std::vector<std::string> before;  // Nodes outside that the loop waits for.
};

class OldControl {
 public:
  // What the roots need of the nodes. nullptr when there is no such control flow. Unimplemented names the node where
  // the pattern is not TensorFlow's. Nodes in `known` have values already.
  static Result<std::shared_ptr<const OldControl>> Find(const NodeIndex& nodes, const std::vector<std::string>& roots,
                                                        const std::set<std::string>& known);

  // nullptr when the node is no Merge of a condition, or no Exit of a loop.
  const OldCondition* ConditionOf(const std::string& merge) const;
  const OldLoop* LoopOf(const std::string& exit) const;

 private:
  friend class OldControlFinder;
  std::vector<OldCondition> conditions_;
  std::vector<OldLoop> loops_;
  std::unordered_map<std::string, size_t> condition_of_;  // By Merge.
  std::unordered_map<std::string, size_t> loop_of_;       // By Exit.
};

}  // namespace longshore::graph
