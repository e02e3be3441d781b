#include "serving-node/graph/control_flow_v1.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "serving-node/graph/limits.h"
#include "serving-node/graph/outputs.h"

namespace longshore::graph {
namespace {

using tensorflow::NodeDef;

// How many conditions may guard one node. Equal to kFunctionDepthMax, the limit for nested bodies.
constexpr size_t kGuardsMax = 64;
// How many inputs DataInputs returns: one more than any supported control-flow op has, so that its callers can reject a
// node with too many inputs.
constexpr size_t kInputsTaken = 3;

bool IsOp(const NodeDef& def, std::string_view op) { return WithoutRef(def.op()) == op; }

// Returns the first kInputsTaken data inputs. Does not scan all inputs of the node, because callers look at one node
// many times and a node may have a million control inputs. In a NodeDef these come after the data inputs.
std::vector<Reference> DataInputs(const NodeDef& def) {
  std::vector<Reference> inputs;
  for (const auto& input : def.input()) {
    if (input.starts_with('^') || inputs.size() == kInputsTaken) break;
    inputs.push_back(ParseReference(input));
  }
  return inputs;
}

std::string FrameOf(const NodeDef& enter) {
  const auto found = enter.attr().find("frame_name");
  return found == enter.attr().end() ? "" : found->second.s();
}

constexpr int kNoOutput = 2;

// Returns which output of a Switch the reference means: 0 (false), 1 (true), or another number if it is not valid.
int SwitchOutput(const Reference& reference) {
  if (reference.output_name.empty()) return reference.index;
  return reference.index > 0 ? kNoOutput : OutputOffset("Switch", {}, reference.output_name).value_or(kNoOutput);
}

tl::unexpected<Error> Refuse(const NodeDef& def, std::string_view why) {
  return Unimplemented("unsupported: control flow of TensorFlow 1 at node \"{}\" (op \"{}\"): {}", def.name(), def.op(),
                       why);
}

// The conditions under which a value exists: pairs of a predicate (its number from NumberOf) and a branch (0 or 1),
// sorted by predicate.
using Guards = std::vector<std::pair<int, int>>;

Guards Union(const Guards& a, const Guards& b) {
  Guards both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

bool Has(const Guards& guards, const std::pair<int, int>& guard) { return std::ranges::binary_search(guards, guard); }

}  // namespace

class ControlFlowV1Finder {
 public:
  ControlFlowV1Finder(const NodeIndex& nodes, const std::set<std::string>& known) : nodes_(nodes), known_(known) {}

  Result<std::shared_ptr<const ControlFlowV1>> Run(const std::vector<std::string>& roots) {
    if (!Reach(roots)) return std::shared_ptr<const ControlFlowV1>();
    RETURN_IF_ERROR(FindLoops());
    for (const auto* def : reached_) RETURN_IF_ERROR(Guard(*def));
    for (auto& group : groups_) RETURN_IF_ERROR(FindArguments(&group));
    for (auto& group : groups_) found_->conditions_.push_back(std::move(group.condition));
    return std::shared_ptr<const ControlFlowV1>(std::move(found_));
  }

 private:
  struct Group {
    int predicate = 0;
    ConditionV1 condition;
  };
  struct Place {
    size_t loop = 0, variable = 0;
  };

  const NodeDef* Find(const std::string& name) const {
    const auto found = nodes_.find(name);
    return found == nodes_.end() || known_.contains(name) ? nullptr : found->second;
  }

  // Collects the nodes that the roots need. Returns false if none of them has a control-flow op.
  bool Reach(const std::vector<std::string>& roots) {
    bool has_control = false;
    std::set<std::string> seen;
    std::vector<std::string> stack;
    for (const auto& root : roots) stack.push_back(ParseReference(root).node);
    while (!stack.empty()) {
      const std::string name = std::move(stack.back());
      stack.pop_back();
      const auto* def = Find(name);
      if (def == nullptr || !seen.insert(name).second) continue;
      reached_.push_back(def);
      has_control = has_control || IsOp(*def, "Switch") || IsOp(*def, "Merge") || IsOp(*def, "Enter");
      for (const auto& input : def->input()) stack.push_back(ParseReference(input).node);
    }
    return has_control;
  }

  Status FindLoops() {
    for (const auto* def : reached_) {
      if (IsOp(*def, "Merge")) RETURN_IF_ERROR(AddVariable(*def));
    }
    for (const auto* def : reached_) {
      if (IsOp(*def, "Switch")) RETURN_IF_ERROR(AddSwitch(*def));
      if (IsOp(*def, "Enter")) RETURN_IF_ERROR(AddEnter(*def));
    }
    for (const auto* def : reached_) {
      if (IsOp(*def, "Exit")) RETURN_IF_ERROR(AddExit(*def));
    }
    return {};
  }

  size_t LoopNamed(const std::string& frame) {
    const auto [at, is_new] = loop_named_.emplace(frame, found_->loops_.size());
    if (is_new) {
      found_->loops_.emplace_back().frame = frame;
      enters_.emplace_back();
    }
    return at->second;
  }

  // Records a loop variable if the Merge is one: it joins the initial value from an Enter and the value of the previous
  // step from a NextIteration.
  Status AddVariable(const NodeDef& merge) {
    const auto inputs = DataInputs(merge);
    if (inputs.size() != 2) return Refuse(merge, "the node must have two inputs");
    const NodeDef* enter = Find(inputs[0].node);
    const NodeDef* next = Find(inputs[1].node);
    if (enter != nullptr && IsOp(*enter, "NextIteration")) std::swap(enter, next);
    if (next == nullptr || !IsOp(*next, "NextIteration")) return {};
    if (enter == nullptr || !IsOp(*enter, "Enter"))
      return Refuse(merge, "the loop of the node does not begin with an Enter");
    if (DataInputs(*enter).size() != 1) return Refuse(*enter, "the node must have one input");
    if (DataInputs(*next).size() != 1) return Refuse(*next, "the node must have one input");
    const size_t loop = LoopNamed(FrameOf(*enter));
    auto& variables = found_->loops_[loop].variables;
    variable_at_[merge.name()] = {loop, variables.size()};
    variable_enters_.insert(enter->name());
    variables.push_back({.first = ToString(DataInputs(*enter)[0]),
                         .merge = merge.name(),
                         .switch_node = {},
                         .next = ToString(DataInputs(*next)[0]),
                         .exits = {}});
    return {};
  }

  Status AddSwitch(const NodeDef& def) {
    const auto inputs = DataInputs(def);
    if (inputs.size() != 2) return Refuse(def, "the node must have two inputs");
    const NodeDef* predicate = Find(inputs[1].node);
    if (predicate == nullptr || predicate->op() != "LoopCond") return {};
    const auto variable = variable_at_.find(inputs[0].node);
    if (variable == variable_at_.end())
      return Refuse(def, "the node switches a value that is not a variable of the loop");
    if (DataInputs(*predicate).size() != 1) return Refuse(*predicate, "the node must have one input");
    auto& loop = found_->loops_[variable->second.loop];
    const std::string condition = ToString(DataInputs(*predicate)[0]);
    if (!loop.condition.empty() && loop.condition != condition) return Refuse(def, "the loop has a second condition");
    loop.condition = condition;
    auto& of = loop.variables[variable->second.variable];
    if (!of.switch_node.empty()) return Refuse(def, "the variable of the loop has a second Switch");
    of.switch_node = def.name();
    switch_at_[def.name()] = variable->second;
    return {};
  }

  Status AddEnter(const NodeDef& enter) {
    if (DataInputs(enter).size() != 1) return Refuse(enter, "the node must have one input");
    const size_t at = LoopNamed(FrameOf(enter));
    auto& loop = found_->loops_[at];
    enters_[at].push_back(&enter);
    if (!variable_enters_.contains(enter.name()))
      loop.constants.push_back({enter.name(), ToString(DataInputs(enter)[0])});
    for (const auto& input : enter.input()) {
      if (input.starts_with('^')) loop.before.push_back(input);
    }
    return {};
  }

  Status AddExit(const NodeDef& exit) {
    const auto inputs = DataInputs(exit);
    const auto at = inputs.size() == 1 ? switch_at_.find(inputs[0].node) : switch_at_.end();
    if (at == switch_at_.end() || SwitchOutput(inputs[0]) != 0)
      return Refuse(exit, "the input of the node is not the last value of a loop's variable");
    found_->loops_[at->second.loop].variables[at->second.variable].exits.push_back(exit.name());
    found_->loop_of_[exit.name()] = at->second.loop;
    return {};
  }

  // Returns the inputs whose guards together are the guards of the node. For a variable of a loop these are all Enter
  // nodes of the loop, for any other node its own inputs.
  std::vector<std::string> NeedsOf(const NodeDef& def) const {
    std::vector<std::string> needs;
    const auto variable = variable_at_.find(def.name());
    if (variable == variable_at_.end()) {
      for (const auto& input : def.input()) needs.push_back(input);
      return needs;
    }
    for (const auto* enter : enters_[variable->second.loop]) needs.push_back(enter->name());
    return needs;
  }

  // Counts visited edges and returns ResourceExhausted above kEdgesMax. This bounds the work, because the inputs of a
  // loop are visited once per loop variable, and a node that several conditions read is visited once per condition.
  Status CountEdges(size_t edges) {
    edges_ += edges;
    return edges_ <= kEdgesMax ? Status{}
                               : ResourceExhausted("conditions and loops have more than {} edges", kEdgesMax);
  }

  // Finds the guards of the root and of everything that it needs. Searches depth first, with an explicit stack instead
  // of recursion, as Builder::EmitAll does.
  Status Guard(const NodeDef& root) {
    std::vector<const NodeDef*> stack = {&root};
    while (!stack.empty()) {
      const NodeDef& def = *stack.back();
      if (guards_.contains(def.name())) {
        stack.pop_back();
        continue;
      }
      open_.insert(def.name());
      const size_t before = stack.size();
      const auto needs = NeedsOf(def);
      RETURN_IF_ERROR(CountEdges(needs.size()));
      for (const auto& need : needs) {
        const NodeDef* needed = Find(ParseReference(need).node);
        if (needed == nullptr || guards_.contains(needed->name())) continue;
        if (open_.contains(needed->name())) return DataLoss("the graph has a cycle at node \"{}\"", needed->name());
        stack.push_back(needed);
      }
      if (stack.size() > before) continue;
      ASSIGN_OR_RETURN(Guards guards, GuardsOfNode(def));
      if (guards.size() > kGuardsMax) return Refuse(def, "conditions are nested too deeply");
      guards_[def.name()] = std::move(guards);
      NotePredicate(def);
      open_.erase(def.name());
      stack.pop_back();
    }
    return {};
  }

  Result<Guards> GuardsOfNode(const NodeDef& def) {
    if (IsOp(def, "Merge") && !variable_at_.contains(def.name())) return AddMerge(def);
    Guards guards;
    for (const auto& need : NeedsOf(def)) {
      guards = Union(guards, GuardsOf(ParseReference(need)));
      // The caller rejects a node with so many guards, and reading its other inputs could take very long.
      if (guards.size() > kGuardsMax) break;
    }
    return guards;
  }

  Guards GuardsOf(const Reference& reference) {
    if (Find(reference.node) == nullptr) return {};
    const Guards& own = guards_[reference.node];
    const auto predicate = predicate_of_.find(reference.node);
    if (reference.control || predicate == predicate_of_.end()) return own;
    return Union(own, {{predicate->second, SwitchOutput(reference)}});
  }

  // Records, for the nodes that come later, which value an Identity copies and which predicate a Switch reads. Called
  // once for each node, after the calls for its inputs.
  void NotePredicate(const NodeDef& def) {
    const auto inputs = DataInputs(def);
    if (def.op() == "Identity" && inputs.size() == 1) copy_of_[def.name()] = NumberOf(inputs[0]);
    if (IsOp(def, "Switch") && !switch_at_.contains(def.name())) predicate_of_[def.name()] = NumberOf(inputs[1]);
  }

  // Returns the number of a value. A copy made by Identity has the number of the original value, because some Switches
  // of a condition read the predicate itself and others read a copy of it.
  int NumberOf(const Reference& read) {
    if (const auto copy = copy_of_.find(read.node); copy != copy_of_.end()) return copy->second;
    const auto [at, is_new] = values_.emplace(ToString(read), static_cast<int>(values_.size()));
    if (is_new) value_texts_.push_back(at->first);
    return at->second;
  }

  // Adds the Merge of a condition and returns its guards. The Merge joins the values of the two branches of one
  // predicate, so this predicate no longer guards its output.
  Result<Guards> AddMerge(const NodeDef& merge) {
    const auto inputs = DataInputs(merge);
    if (inputs.size() != 2) return Refuse(merge, "the node must have two inputs");
    const Guards sides[2] = {GuardsOf(inputs[0]), GuardsOf(inputs[1])};
    std::vector<std::pair<int, int>> opposite;
    for (const auto& guard : sides[0]) {
      if (Has(sides[1], {guard.first, 1 - guard.second})) opposite.push_back(guard);
    }
    if (opposite.size() != 1)
      return Refuse(merge, "the inputs of the node are not from the two branches of one condition");
    Guards rest = Union(sides[0], sides[1]);
    std::erase_if(rest, [&](const auto& guard) { return guard.first == opposite[0].first; });
    AddToGroup(merge, inputs, opposite[0], rest);
    return rest;
  }

  void AddToGroup(const NodeDef& merge, const std::vector<Reference>& inputs, std::pair<int, int> first,
                  const Guards& rest) {
    const std::string scope = merge.name().substr(0, merge.name().find_last_of('/') + 1);
    const auto [at, is_new] = group_of_.emplace(std::tuple(first.first, scope, rest), groups_.size());
    if (is_new) {
      groups_.push_back({.predicate = first.first, .condition = {}});
      groups_.back().condition.predicate = value_texts_[static_cast<size_t>(first.first)];
    }
    ConditionV1& condition = groups_[at->second].condition;
    condition.merges.push_back(merge.name());
    condition.results[static_cast<size_t>(first.second)].push_back(ToString(inputs[0]));
    condition.results[static_cast<size_t>(1 - first.second)].push_back(ToString(inputs[1]));
    found_->condition_of_[merge.name()] = at->second;
  }

  // Walks back from the results of each branch to the values that enter the condition, and adds them to its arguments.
  Status FindArguments(Group* group) {
    std::set<std::string> taken;
    for (const int branch : {0, 1}) {
      std::set<std::string> seen;
      std::vector<std::string> stack = group->condition.results[static_cast<size_t>(branch)];
      while (!stack.empty()) {
        const Reference reference = ParseReference(stack.back());
        stack.pop_back();
        RETURN_IF_ERROR(CountEdges(1));
        const NodeDef* def = Find(reference.node);
        const bool is_inside = def != nullptr && Has(GuardsOf(reference), {group->predicate, branch});
        if (is_inside && !IsSwitchOf(*def, group->predicate)) {
          if (!seen.insert(reference.node).second) continue;
          stack.insert(stack.end(), def->input().begin(), def->input().end());
        } else {
          RETURN_IF_ERROR(AddArgument(reference, def, branch, group, &taken));
        }
      }
    }
    return {};
  }

  bool IsSwitchOf(const NodeDef& def, int predicate) const {
    const auto found = predicate_of_.find(def.name());
    return found != predicate_of_.end() && found->second == predicate;
  }

  // Adds a value from outside of the condition to the condition's arguments. If the reference is a control input, adds
  // the node that it names outside of the condition to `before` instead.
  Status AddArgument(const Reference& reference, const NodeDef* def, int branch, Group* group,
                     std::set<std::string>* taken) {
    const std::string inside = ToString(reference);
    if (!taken->insert(inside).second) return {};
    const bool is_switch = def != nullptr && IsSwitchOf(*def, group->predicate);
    const std::string outside = is_switch ? ToString(DataInputs(*def)[0]) : inside;
    if (reference.control) {
      group->condition.before.push_back("^" + ParseReference(outside).node);
    } else if (is_switch && SwitchOutput(reference) != branch) {
      return Refuse(*def, "one branch of a condition reads a value of the other branch");
    } else {
      group->condition.arguments.push_back({inside, outside});
    }
    return {};
  }

  const NodeIndex& nodes_;
  const std::set<std::string>& known_;
  std::shared_ptr<ControlFlowV1> found_ = std::make_shared<ControlFlowV1>();
  std::vector<const NodeDef*> reached_;
  std::map<std::string, size_t> loop_named_;            // Key: the name of the loop's frame.
  std::vector<std::vector<const NodeDef*>> enters_;     // The Enter nodes of each loop.
  std::unordered_map<std::string, Place> variable_at_;  // Key: the name of the Merge node.
  std::unordered_map<std::string, Place> switch_at_;    // Key: the name of the Switch node of a loop variable.
  std::set<std::string> variable_enters_;
  std::unordered_map<std::string, Guards> guards_;  // Key: the name of the node.
  std::set<std::string> open_;
  std::map<std::string, int> values_;                  // Key: the reference of a predicate or copied value.
  std::vector<std::string> value_texts_;               // The reverse of values_: the reference for each number.
  std::unordered_map<std::string, int> copy_of_;       // Key: the name of the Identity node.
  std::unordered_map<std::string, int> predicate_of_;  // Key: the name of the Switch node of a condition.
  size_t edges_ = 0;
  std::vector<Group> groups_;
  std::map<std::tuple<int, std::string, Guards>, size_t> group_of_;  // Key: predicate, name scope, outer guards.
};

Result<std::shared_ptr<const ControlFlowV1>> ControlFlowV1::Find(const NodeIndex& nodes,
                                                                 const std::vector<std::string>& roots,
                                                                 const std::set<std::string>& known) {
  const auto is_control = [](const auto& named) {
    return IsOp(*named.second, "Switch") || IsOp(*named.second, "Merge") || IsOp(*named.second, "Enter");
  };
  if (std::ranges::none_of(nodes, is_control)) return std::shared_ptr<const ControlFlowV1>();
  return ControlFlowV1Finder(nodes, known).Run(roots);
}

const ConditionV1* ControlFlowV1::ConditionOf(const std::string& merge) const {
  const auto found = condition_of_.find(merge);
  return found == condition_of_.end() ? nullptr : &conditions_[found->second];
}

const LoopV1* ControlFlowV1::LoopOf(const std::string& exit) const {
  const auto found = loop_of_.find(exit);
  return found == loop_of_.end() ? nullptr : &loops_[found->second];
}

}  // namespace longshore::graph
