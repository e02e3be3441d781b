#include "serving-node/engine/interpreter/plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "serving-node/engine/kernels/registry.h"
#include "serving-node/graph/gathers.h"
#include "serving-node/graph/outputs.h"
#include "serving-node/graph/prune.h"

namespace longshore::engine::interpreter {

using kernels::Call;
using kernels::Kernel;
using tensor::DType;
using tensor::Tensor;

namespace {

bool TakesType(const Kernel& kernel, DType type) {
  if (kernel.types == kernels::kAnyType || type == DType::kInvalid) return true;
  const int bit = static_cast<int>(type);
  return bit < 32 && (kernel.types & kernels::Only(type)) != 0;
}

// The limits of constant folding at load. Values that would exceed them are computed in each run.
constexpr kernels::RunLimits kFoldLimits{.time_max = std::chrono::seconds(2)};  // For each loop or branch.
constexpr size_t kFoldBytesMax = size_t{2} << 30;  // For the values of a whole load, without constants and variables.

}  // namespace

void Unsupported::Check(const graph::Graph& graph) {
  graph::ForEachNode(graph, [this](const graph::Node& node) {
    if (node.op == "Placeholder") return;
    const Kernel* kernel = kernels::FindKernel(node.op);
    if (kernel == nullptr) {
      Add(node, "");
    } else if (!TakesType(*kernel, node.attributes.Type("T"))) {
      Add(node, fmt::format(" of {}", DTypeName(node.attributes.Type("T"))));
    } else if (kernel->check != nullptr) {
      if (const auto status = kernel->check(node); !status) Add(node, fmt::format(": {}", status.error().message));
    }
  });
}

void Unsupported::Add(const graph::Node& node, const std::string& reason) {
  const UnsupportedOp first{.op = node.op, .reason = reason, .node = node.name};
  const auto [at, is_new] = seen_.emplace(fmt::format("\"{}\"{}", node.op, reason), first);
  if (!is_new && at->second.node != node.name) ++at->second.more;
}

std::vector<UnsupportedOp> Unsupported::ToList() const {
  std::vector<UnsupportedOp> list;
  for (const auto& [_, op] : seen_) list.push_back(op);
  return list;
}

Status Unsupported::ToStatus() const {
  if (seen_.empty()) return {};
  std::vector<std::string> parts;
  for (const auto& [what, seen] : seen_) {
    parts.push_back(seen.more == 0 ? fmt::format("{} (node \"{}\")", what, seen.node)
                                   : fmt::format("{} (node \"{}\", and {} more)", what, seen.node, seen.more));
  }
  return Unimplemented("{}{}", kUnsupportedOps, fmt::join(parts, ", "));
}

// The state of one run, which the runs of its bodies share.
class Plan::RunState final : public kernels::Bodies {
 public:
  RunState(const Plan& plan, kernels::Resources& to_use, const AfterNode& observer, const kernels::RunLimits& limits)
      : Bodies(limits), resources(to_use), after(observer), plan_(plan) {}

  kernels::Resources& resources;
  const AfterNode& after;
  kernels::RunTables tables;

 private:
  kernels::Outputs Compute(int body, std::vector<Tensor> arguments, size_t room_bytes) override {
    return plan_.bodies_[static_cast<size_t>(body)].RunBody(std::move(arguments), room_bytes, *this);
  }

  const Plan& plan_;
};

Result<Plan> Plan::Make(graph::Graph graph, Folding folding, kernels::Resources& resources) {
  RETURN_IF_ERROR(graph::CheckOutputs(graph));
  if (folding.fold_variables) graph = graph::ReadBeforeGather(std::move(graph));
  auto bodies = std::move(graph.bodies);
  ASSIGN_OR_RETURN(Plan plan, MakeOne(std::move(graph)));
  for (auto& body : bodies) {
    ASSIGN_OR_RETURN(Plan made, MakeOne(std::move(body)));
    made.FoldInBody(folding, resources);
    made.CountUses();
    plan.bodies_.push_back(std::move(made));
  }
  RETURN_IF_ERROR(plan.Fold(folding, resources));
  plan.CountUses();
  return plan;
}

Result<Plan> Plan::MakeOne(graph::Graph graph) {
  Plan plan;
  plan.graph_ = std::move(graph);
  for (const auto& node : plan.graph_.nodes) {
    const bool is_computed = node.op != "Placeholder" && node.values.empty();
    const Kernel* kernel = is_computed ? kernels::FindKernel(node.op) : nullptr;
    if (kernel != nullptr && node.inputs.size() < static_cast<size_t>(kernel->inputs_min)) {
      return DataLoss("op \"{}\" (node \"{}\") has {} inputs instead of {}", node.op, node.name, node.inputs.size(),
                      kernel->inputs_min);
    }
    plan.kernels_.push_back(kernel);
    plan.folded_.push_back(node.values);
    plan.is_folded_.push_back(!node.values.empty());
  }
  return plan;
}

bool Plan::IsFoldable(size_t at, Folding folding, const std::vector<bool>& pure_bodies) const {
  const auto& node = graph_.nodes[at];
  if (!folding.fold || kernels_[at] == nullptr || !kernels_[at]->is_foldable) return false;
  if (!folding.fold_variables && kernels_[at]->reads_variable) return false;
  return std::ranges::all_of(node.bodies, [&](int body) { return pure_bodies[static_cast<size_t>(body)]; });
}

// Returns for each body whether it is pure, that is, whether its results depend only on its arguments. A body is not
// pure if one of its nodes is not foldable or uses a body that is not pure.
std::vector<bool> Plan::PureBodies(Folding folding) const {
  std::vector<bool> pure(bodies_.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < bodies_.size(); ++i) {
      const Plan& body = bodies_[i];
      for (size_t at = 0; pure[i] && at < body.graph_.nodes.size(); ++at) {
        if (body.kernels_[at] == nullptr || body.IsFoldable(at, folding, pure)) continue;
        pure[i] = false;
        changed = true;
      }
    }
  }
  return pure;
}

// Computes a node at load, within what is left of kFoldBytesMax. Constants and variables are in memory anyway and do
// not count.
kernels::Outputs Plan::ComputeAtLoad(size_t at, RunState& run_state) const {
  const auto& node = graph_.nodes[at];
  if (node.inputs.empty() || kernels_[at]->reads_variable) return Compute(at, folded_, SIZE_MAX, run_state);
  size_t& spent = run_state.resources.folded_bytes;
  auto outputs = Compute(at, folded_, kFoldBytesMax - spent, run_state);
  if (outputs) spent += std::min(kernels::HeldBytes(*outputs), kFoldBytesMax - spent);
  return outputs;
}

Status Plan::Fold(Folding folding, kernels::Resources& resources) {
  const std::vector<bool> pure_bodies = PureBodies(folding);
  const auto is_known = [this](const graph::Edge& input) { return is_folded_[static_cast<size_t>(input.node)]; };
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto& node = graph_.nodes[i];
    if (IsFoldable(i, folding, pure_bodies) && std::ranges::all_of(node.inputs, is_known)) {
      const AfterNode no_observer;
      RunState run_state(*this, resources, no_observer, kFoldLimits);
      auto outputs = ComputeAtLoad(i, run_state);
      const bool may_fail = !node.bodies.empty() || (!outputs && outputs.error().code == Code::kResourceExhausted);
      if (!outputs && !may_fail) return tl::make_unexpected(outputs.error());
      is_folded_[i] = outputs.has_value();
      if (outputs) folded_[i] = std::move(*outputs);
    }
    if (kernels_[i] != nullptr && !is_folded_[i]) order_.push_back(i);
  }
  FreeUnreadFolded();
  return {};
}

// A node that fails here is not an error, because the body may never run.
void Plan::FoldInBody(Folding folding, kernels::Resources& resources) {
  const auto is_known = [this](const graph::Edge& input) { return is_folded_[static_cast<size_t>(input.node)]; };
  const AfterNode no_observer;
  RunState run_state(*this, resources, no_observer, kFoldLimits);
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto& node = graph_.nodes[i];
    if (node.bodies.empty() && IsFoldable(i, folding, {}) && std::ranges::all_of(node.inputs, is_known)) {
      auto outputs = ComputeAtLoad(i, run_state);
      is_folded_[i] = outputs.has_value();
      if (outputs) folded_[i] = std::move(*outputs);
    }
    if (kernels_[i] != nullptr && !is_folded_[i]) order_.push_back(i);
  }
  FreeUnreadFolded();
}

// Frees the folded values that only other folded nodes read.
void Plan::FreeUnreadFolded() {
  std::set<int> held;
  for (const size_t i : order_) {
    for (const auto& input : graph_.nodes[i].inputs) held.insert(input.node);
  }
  for (const auto& output : graph_.outputs) held.insert(output.node);
  for (size_t i = 0; i < folded_.size(); ++i) {
    if (!held.contains(static_cast<int>(i))) folded_[i].clear();
  }
}

void Plan::CountUses() {
  freed_after_.resize(graph_.nodes.size());
  std::set<int> seen;
  for (const auto& output : graph_.outputs) seen.insert(output.node);
  for (size_t k = order_.size(); k-- > 0;) {
    for (const auto& input : graph_.nodes[order_[k]].inputs) {
      if (!is_folded_[static_cast<size_t>(input.node)] && seen.insert(input.node).second)
        freed_after_[order_[k]].push_back(input.node);
    }
  }
}

Result<Tensor> Plan::ValueAt(const graph::Edge& edge, const Values& values) const {
  const auto at = static_cast<size_t>(edge.node);
  const auto& outputs = is_folded_[at] ? folded_[at] : values[at];
  if (edge.output < 0 || static_cast<size_t>(edge.output) >= outputs.size()) {
    return DataLoss("op \"{}\" (node \"{}\") has no output {}", graph_.nodes[at].op, graph_.nodes[at].name,
                    edge.output);
  }
  return outputs[static_cast<size_t>(edge.output)];
}

Result<std::vector<Tensor>> Plan::Compute(size_t at, const Values& values, size_t room_bytes,
                                          RunState& run_state) const {
  const auto& node = graph_.nodes[at];
  std::vector<Tensor> inputs;
  inputs.reserve(node.inputs.size());
  for (const auto& edge : node.inputs) {
    ASSIGN_OR_RETURN(Tensor input, ValueAt(edge, values));
    inputs.push_back(std::move(input));
  }
  const Call call{node, inputs, run_state.resources, room_bytes, &run_state.tables, &run_state};
  auto outputs = kernels::RunKernel(*kernels_[at], call);
  if (outputs) {
    if (run_state.after) run_state.after(node, inputs, *outputs);
    return outputs;
  }
  return kernels::AtNode(outputs.error(), node, &run_state);
}

std::vector<bool> Plan::NeededFor(std::span<const size_t> wanted) const {
  std::vector<bool> needed(graph_.nodes.size(), wanted.empty());
  if (wanted.empty()) return needed;
  for (const size_t output : wanted) needed[static_cast<size_t>(graph_.outputs[output].node)] = true;
  for (size_t k = order_.size(); k-- > 0;) {
    const auto& node = graph_.nodes[order_[k]];
    if (node.has_effect) needed[order_[k]] = true;
    if (!needed[order_[k]]) continue;
    for (const auto& input : node.inputs) needed[static_cast<size_t>(input.node)] = true;
  }
  return needed;
}

Status Plan::Execute(const std::vector<bool>& needed, size_t memory_bytes_max, RunState& run_state,
                     Values* values) const {
  size_t held_bytes = 0;
  for (const size_t i : order_) {
    if (!needed.empty() && !needed[i]) continue;
    ASSIGN_OR_RETURN((*values)[i], Compute(i, *values, memory_bytes_max - held_bytes, run_state));
    held_bytes += kernels::HeldBytes((*values)[i]);
    for (const int freed : freed_after_[i]) {
      auto& outputs = (*values)[static_cast<size_t>(freed)];
      if (kernels_[static_cast<size_t>(freed)] != nullptr)
        held_bytes -= kernels::HeldBytes(outputs);  // Fed tensors have no kernel and were not counted.
      outputs.clear();
    }
  }
  return {};
}

Result<std::vector<Tensor>> Plan::RunBody(std::vector<Tensor> arguments, size_t memory_bytes_max,
                                          RunState& run_state) const {
  if (arguments.size() != graph_.arguments.size())
    return InvalidArgument("the body of a condition or loop is called with {} arguments instead of {}",
                           arguments.size(), graph_.arguments.size());
  Values values(graph_.nodes.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    values[static_cast<size_t>(graph_.arguments[i])] = {std::move(arguments[i])};
  RETURN_IF_ERROR(Execute({}, memory_bytes_max, run_state, &values));
  std::vector<Tensor> outputs;
  for (const auto& edge : graph_.outputs) {
    ASSIGN_OR_RETURN(Tensor output, ValueAt(edge, values));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

Result<std::vector<Tensor>> Plan::Run(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                      kernels::Resources& resources, size_t memory_bytes_max, const AfterNode& after,
                                      const kernels::RunLimits& limits) const {
  Values values(graph_.nodes.size());
  for (const auto& [name, node] : graph_.fed) {
    const auto given = fed.find(name);
    if (given == fed.end()) return InvalidArgument("the graph input \"{}\" has no value", name);
    values[static_cast<size_t>(node)] = {given->second};
  }
  RunState run_state(*this, resources, after, limits);
  RETURN_IF_ERROR(Execute(NeededFor(wanted), memory_bytes_max, run_state, &values));
  std::vector<size_t> positions(wanted.begin(), wanted.end());
  if (positions.empty()) {
    positions.resize(graph_.outputs.size());
    std::iota(positions.begin(), positions.end(), size_t{0});
  }
  std::vector<Tensor> outputs;
  for (const size_t position : positions) {
    ASSIGN_OR_RETURN(Tensor output, ValueAt(graph_.outputs[position], values));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

graph::Graph Plan::ToGraph() const {
  graph::Graph graph = WithFolded();
  for (const Plan& body : bodies_) graph.bodies.push_back(body.WithFolded());
  return graph::Prune(std::move(graph));
}

graph::Graph Plan::WithFolded() const {
  graph::Graph graph = graph_;
  graph.bodies.clear();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!is_folded_[i]) continue;
    graph.nodes[i] = {.name = graph_.nodes[i].name, .op = "Const", .values = folded_[i]};
  }
  return graph;
}

PlanView Plan::Explain() const {
  PlanView view{.nodes = order_.size(), .passes = {}, .steps = {}, .run_bytes = 0};
  for (const size_t i : order_) {
    const auto& node = graph_.nodes[i];
    view.steps.push_back({.node = node.name, .op = node.op, .then = {}, .shape = "?", .how = "kernel"});
  }
  return view;
}

int64_t Plan::folded_bytes(kernels::CountedBuffers* counted) const {
  int64_t sum = 0;
  for (const auto& outputs : folded_) {
    for (const auto& output : outputs) sum += kernels::UncountedBytes(output, counted);
  }
  for (const auto& body : bodies_) sum += body.folded_bytes(counted);
  return sum;
}

}  // namespace longshore::engine::interpreter
