#include "serving-node/graph/old_control.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "serving-node/graph/outputs.h"

namespace longshore::graph {
namespace {

using tensorflow::NodeDef;

constexpr size_t kGuardsMax = 64;   // As deep as bodies may lie within each other.
constexpr size_t kInputsTaken = 3;  // One more than any op of control flow has.

bool IsOp(const NodeDef& def, std::string_view op) { return WithoutRef(def.op()) == op; }

// The first of them. What is only waited for comes last, and may be a million nodes: many that read one node must not
// look at all of these each.
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

// Which of the two outputs of a Switch. What is neither is on no side of a condition.
int SwitchOutput(const Reference& reference) {
  if (reference.output_name.empty()) return reference.index;
  return reference.index > 0 ? kNoOutput : OutputOffset("Switch", {}, reference.output_name).value_or(kNoOutput);
}

tl::unexpected<Error> Refuse(const NodeDef& def, std::string_view why) {
  return Unimplemented("unsupported: control flow of TensorFlow 1 at node \"{}\" (op \"{}\"): {}", def.name(), def.op(),
                       why);
}

// Where a value exists: for each predicate the branch, sorted by predicate.
using Guards = std::vector<std::pair<int, int>>;

Guards Union(const Guards& a, const Guards& b) {
  Guards both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

bool Has(const Guards& guards, const std::pair<int, int>& guard) { return std::ranges::binary_search(guards, guard); }

}  // namespace

class OldControlFinder {
 public:
  OldControlFinder(const NodeIndex& nodes, const std::set<std::string>& known) : nodes_(nodes), known_(known) {}

  Result<std::shared_ptr<const OldControl>> Run(const std::vector<std::string>& roots) {
    if (!Reach(roots)) return std::shared_ptr<const OldControl>();
    RETURN_IF_ERROR(FindLoops());
    for (const auto* def : reached_) RETURN_IF_ERROR(Guard(*def));
    for (auto& group : groups_) RETURN_IF_ERROR(FindArguments(&group));
    for (auto& group : groups_) found_->conditions_.push_back(std::move(group.condition));
    return std::shared_ptr<const OldControl>(std::move(found_));
  }

 private:
  struct Group {
    int predicate = 0;
    OldCondition condition;
  };
  struct Place {
    size_t loop = 0, variable = 0;
  };

  const NodeDef* Find(const std::string& name) const {
    const auto found = nodes_.find(name);
    return found == nodes_.end() || known_.contains(name) ? nullptr : found->second;
  }

  // Collects what the roots need; false when there is no control flow in it.
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

  // A Merge of a first value and the one of the step before.
  Status AddVariable(const NodeDef& merge) {
    const auto inputs = DataInputs(merge);
    if (inputs.size() != 2) return Refuse(merge, "it must have two inputs");
    const NodeDef* enter = Find(inputs[0].node);
    const NodeDef* next = Find(inputs[1].node);
    if (enter != nullptr && IsOp(*enter, "NextIteration")) std::swap(enter, next);
    if (next == nullptr || !IsOp(*next, "NextIteration")) return {};
    if (enter == nullptr || !IsOp(*enter, "Enter")) return Refuse(merge, "its loop does not begin with an Enter");
    if (DataInputs(*enter).size() != 1) return Refuse(*enter, "it must have one input");
    if (DataInputs(*next).size() != 1) return Refuse(*next, "it must have one input");
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
    if (inputs.size() != 2) return Refuse(def, "it must have two inputs");
    const NodeDef* predicate = Find(inputs[1].node);
    if (predicate == nullptr || predicate->op() != "LoopCond") return {};
    const auto variable = variable_at_.find(inputs[0].node);
    if (variable == variable_at_.end()) return Refuse(def, "a loop switches what is none of its variables");
    if (DataInputs(*predicate).size() != 1) return Refuse(*predicate, "it must have one input");
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
    if (DataInputs(enter).size() != 1) return Refuse(enter, "it must have one input");
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
      return Refuse(exit, "it does not end a loop's variable");
    found_->loops_[at->second.loop].variables[at->second.variable].exits.push_back(exit.name());
    found_->loop_of_[exit.name()] = at->second.loop;
    return {};
  }

  // What must be known before a node's guards are. A loop is where all that enters it is.
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

  // Every loop is seen by all its variables, and what conditions share by each of them.
  Status CountEdges(size_t edges) {
    edges_ += edges;
    return edges_ <= kEdgesMax ? Status{}
                               : ResourceExhausted("conditions and loops have more than {} edges", kEdgesMax);
  }

  // Depth first and without recursion, as the builder goes.
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
      if (guards.size() > kGuardsMax) return Refuse(def, "conditions lie within each other too deep");
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
      if (guards.size() > kGuardsMax) break;  // To be refused, and the rest may be as many as the graph has.
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

  // Once for each node, after those that it reads: whoever looks back from it finds what is noted here.
  void NotePredicate(const NodeDef& def) {
    const auto inputs = DataInputs(def);
    if (def.op() == "Identity" && inputs.size() == 1) copy_of_[def.name()] = NumberOf(inputs[0]);
    if (IsOp(def, "Switch") && !switch_at_.contains(def.name())) predicate_of_[def.name()] = NumberOf(inputs[1]);
  }

  // The same for all that is a copy of one value: some switches of a condition read the copy.
  int NumberOf(const Reference& read) {
    if (const auto copy = copy_of_.find(read.node); copy != copy_of_.end()) return copy->second;
    const auto [at, is_new] = values_.emplace(ToString(read), static_cast<int>(values_.size()));
    if (is_new) value_texts_.push_back(at->first);
    return at->second;
  }

  // A Merge of what the two sides of one predicate made: what it gives is no longer guarded by that.
  Result<Guards> AddMerge(const NodeDef& merge) {
    const auto inputs = DataInputs(merge);
    if (inputs.size() != 2) return Refuse(merge, "it must have two inputs");
    const Guards sides[2] = {GuardsOf(inputs[0]), GuardsOf(inputs[1])};
    std::vector<std::pair<int, int>> opposite;
    for (const auto& guard : sides[0]) {
      if (Has(sides[1], {guard.first, 1 - guard.second})) opposite.push_back(guard);
    }
    if (opposite.size() != 1) return Refuse(merge, "its inputs are not the two sides of one condition");
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
    OldCondition& condition = groups_[at->second].condition;
    condition.merges.push_back(merge.name());
    condition.results[static_cast<size_t>(first.second)].push_back(ToString(inputs[0]));
    condition.results[static_cast<size_t>(1 - first.second)].push_back(ToString(inputs[1]));
    found_->condition_of_[merge.name()] = at->second;
  }

  // Walks each branch back from its results to where it is no longer under the condition.
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

  // A value that comes from outside, or a node outside that is waited for.
  Status AddArgument(const Reference& reference, const NodeDef* def, int branch, Group* group,
                     std::set<std::string>* taken) {
    const std::string inside = ToString(reference);
    if (!taken->insert(inside).second) return {};
    const bool is_switch = def != nullptr && IsSwitchOf(*def, group->predicate);
    const std::string outside = is_switch ? ToString(DataInputs(*def)[0]) : inside;
    if (reference.control) {
      group->condition.before.push_back("^" + ParseReference(outside).node);
    } else if (is_switch && SwitchOutput(reference) != branch) {
      return Refuse(*def, "one side of a condition reads what the other side has");
    } else {
      group->condition.arguments.push_back({inside, outside});
    }
    return {};
  }

  const NodeIndex& nodes_;
  const std::set<std::string>& known_;
  std::shared_ptr<OldControl> found_ = std::make_shared<OldControl>();
  std::vector<const NodeDef*> reached_;
  std::map<std::string, size_t> loop_named_;            // By frame.
  std::vector<std::vector<const NodeDef*>> enters_;     // By loop.
  std::unordered_map<std::string, Place> variable_at_;  // By Merge.
  std::unordered_map<std::string, Place> switch_at_;    // By the Switch of a loop.
  std::set<std::string> variable_enters_;
  std::unordered_map<std::string, Guards> guards_;  // By node.
  std::set<std::string> open_;
  std::map<std::string, int> values_;                  // What switches ask or copies copy, by its text.
  std::vector<std::string> value_texts_;               // By number.
  std::unordered_map<std::string, int> copy_of_;       // By Identity.
  std::unordered_map<std::string, int> predicate_of_;  // By the Switch of a condition.
  size_t edges_ = 0;
  std::vector<Group> groups_;
  std::map<std::tuple<int, std::string, Guards>, size_t> group_of_;  // By predicate, scope and what guards it.
};

Result<std::shared_ptr<const OldControl>> OldControl::Find(const NodeIndex& nodes,
                                                           const std::vector<std::string>& roots,
                                                           const std::set<std::string>& known) {
  const auto is_control = [](const auto& named) {
    return IsOp(*named.second, "Switch") || IsOp(*named.second, "Merge") || IsOp(*named.second, "Enter");
  };
  if (std::ranges::none_of(nodes, is_control)) return std::shared_ptr<const OldControl>();
  return OldControlFinder(nodes, known).Run(roots);
}

const OldCondition* OldControl::ConditionOf(const std::string& merge) const {
  const auto found = condition_of_.find(merge);
  return found == condition_of_.end() ? nullptr : &conditions_[found->second];
}

const OldLoop* OldControl::LoopOf(const std::string& exit) const {
  const auto found = loop_of_.find(exit);
  return found == loop_of_.end() ? nullptr : &loops_[found->second];
}

}  // namespace longshore::graph
