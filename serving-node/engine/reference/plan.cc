#include "serving-node/engine/reference/plan.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace longshore::engine::reference {

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

}  // namespace

size_t Plan::HeldBytes(const std::vector<Tensor>& outputs) {
  size_t sum = 0;
  for (const auto& output : outputs) {
    const bool is_text = output.type() == DType::kString;
    sum += is_text ? static_cast<size_t>(output.elements()) * sizeof(std::string) : output.bytes();
  }
  return sum;
}

void Unsupported::Check(const graph::Graph& graph) {
  for (const auto& node : graph.nodes) {
    if (node.op == "Placeholder") continue;
    const Kernel* kernel = kernels::FindKernel(node.op);
    if (kernel == nullptr) {
      Add(node, "");
    } else if (!TakesType(*kernel, node.attributes.Type("T"))) {
      Add(node, fmt::format(" of {}", DTypeName(node.attributes.Type("T"))));
    } else if (kernel->check != nullptr) {
      if (const auto status = kernel->check(node); !status) Add(node, fmt::format(": {}", status.error().message));
    }
  }
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
  return Unimplemented("unsupported ops: {}", fmt::join(parts, ", "));
}

Result<Plan> Plan::Make(graph::Graph graph, Folding folding, kernels::Resources& resources) {
  Plan plan;
  plan.graph_ = std::move(graph);
  for (const auto& node : plan.graph_.nodes) {
    const Kernel* kernel = node.op == "Placeholder" ? nullptr : kernels::FindKernel(node.op);
    if (kernel != nullptr && node.inputs.size() < static_cast<size_t>(kernel->inputs_min)) {
      return DataLoss("op \"{}\" (node \"{}\") has {} inputs instead of {}", node.op, node.name, node.inputs.size(),
                      kernel->inputs_min);
    }
    plan.kernels_.push_back(kernel);
  }
  plan.folded_.resize(plan.graph_.nodes.size());
  plan.is_folded_.resize(plan.graph_.nodes.size());
  RETURN_IF_ERROR(plan.Fold(folding, resources));
  plan.CountUses();
  return plan;
}

Status Plan::Fold(Folding folding, kernels::Resources& resources) {
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto& node = graph_.nodes[i];
    const auto is_known = [this](const graph::Edge& input) { return is_folded_[static_cast<size_t>(input.node)]; };
    const bool reads_variable =
        node.op == "ReadVariableOp" || node.op == "VariableShape" || node.op == "ResourceGather";
    const bool can = folding.fold && kernels_[i] != nullptr && kernels_[i]->is_foldable &&
                     (folding.fold_variables || !reads_variable) &&
                     std::all_of(node.inputs.begin(), node.inputs.end(), is_known);
    if (!can) {
      if (kernels_[i] != nullptr) order_.push_back(i);
      continue;
    }
    ASSIGN_OR_RETURN(folded_[i], Compute(i, folded_, resources, SIZE_MAX));
    is_folded_[i] = true;
  }
  // What only other folded values needed is not held.
  std::set<int> held;
  for (const size_t i : order_) {
    for (const auto& input : graph_.nodes[i].inputs) held.insert(input.node);
  }
  for (const auto& output : graph_.outputs) held.insert(output.node);
  for (size_t i = 0; i < folded_.size(); ++i) {
    if (!held.contains(static_cast<int>(i))) folded_[i].clear();
  }
  return {};
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

Result<std::vector<Tensor>> Plan::Compute(size_t at, const Values& values, kernels::Resources& resources,
                                          size_t room_bytes) const {
  const auto& node = graph_.nodes[at];
  std::vector<Tensor> inputs;
  inputs.reserve(node.inputs.size());
  for (const auto& edge : node.inputs) {
    ASSIGN_OR_RETURN(Tensor input, ValueAt(edge, values));
    inputs.push_back(std::move(input));
  }
  auto outputs = kernels_[at]->compute(Call{node, inputs, resources, room_bytes});
  if (outputs && HeldBytes(*outputs) > room_bytes) {
    outputs = ResourceExhausted("its outputs need {} bytes where {} are left of the run's memory", HeldBytes(*outputs),
                                room_bytes);
  }
  if (!outputs) return Prefixed(outputs.error(), fmt::format("op \"{}\" (node \"{}\")", node.op, node.name));
  return outputs;
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

Result<std::vector<Tensor>> Plan::Run(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                      kernels::Resources& resources, size_t memory_bytes_max,
                                      const AfterNode& after) const {
  size_t held_bytes = 0;
  Values values(graph_.nodes.size());
  for (const auto& [name, node] : graph_.fed) {
    const auto given = fed.find(name);
    if (given == fed.end()) return InvalidArgument("no value for \"{}\"", name);
    values[static_cast<size_t>(node)] = {given->second};
  }
  const std::vector<bool> needed = NeededFor(wanted);
  for (const size_t i : order_) {
    if (!needed[i]) continue;
    ASSIGN_OR_RETURN(values[i], Compute(i, values, resources, memory_bytes_max - held_bytes));
    held_bytes += HeldBytes(values[i]);
    if (after) after(i, values[i]);
    for (const int freed : freed_after_[i]) {
      auto& outputs = values[static_cast<size_t>(freed)];
      if (kernels_[static_cast<size_t>(freed)] != nullptr)
        held_bytes -= HeldBytes(outputs);  // What is fed is not ours.
      outputs.clear();
    }
  }
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

int64_t Plan::folded_bytes(kernels::CountedBuffers* counted) const {
  int64_t sum = 0;
  for (const auto& outputs : folded_) {
    for (const auto& output : outputs) sum += kernels::UncountedBytes(output, counted);
  }
  return sum;
}

}  // namespace longshore::engine::reference
