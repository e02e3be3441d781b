#include "serving-node/engine/cpu/compiled.h"

#include <omp.h>

#include <algorithm>

#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/prune.h"

namespace longshore::engine::cpu {
namespace {

bool IsComputed(const graph::Node& node) { return node.op != "Placeholder" && node.values.empty(); }

size_t CountNodes(const graph::Graph& graph) {
  return static_cast<size_t>(std::ranges::count_if(graph.nodes, IsComputed));
}

// Of a product: its weights.
bool TakesLayouts(const graph::Node& node, size_t input) {
  static const std::set<std::string_view> kProducts = {
      "Conv2D", "DepthwiseConv2dNative", "MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum"};
  return input == 1 && kProducts.contains(node.op);
}

// Constants that products alone read, in a layout of their own.
void HandOver(graph::Graph* graph, Weights* weights) {
  std::vector<bool> has_other_readers(graph->nodes.size());
  for (const graph::Node& node : graph->nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!TakesLayouts(node, i)) has_other_readers[static_cast<size_t>(node.inputs[i].node)] = true;
    }
  }
  for (const graph::Edge& output : graph->outputs) has_other_readers[static_cast<size_t>(output.node)] = true;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    auto& values = graph->nodes[i].values;
    if (has_other_readers[i] || values.size() != 1 || values[0].type() != DType::kFloat) continue;
    if (values[0].elements() > 0) values[0] = weights->TakeOver(values[0]);
  }
}

graph::Graph Only(const graph::Graph& graph, std::span<const size_t> wanted) {
  if (wanted.empty()) return graph;
  graph::Graph some = graph;
  some.outputs.clear();
  for (const size_t output : wanted) some.outputs.push_back(graph.outputs[output]);
  return graph::Prune(std::move(some));
}

std::vector<Shape> ShapesOf(const std::map<std::string, Tensor>& fed) {
  std::vector<Shape> shapes;
  for (const auto& [name, value] : fed) shapes.push_back(value.shape());
  return shapes;
}

}  // namespace

Compiled::Compiled(graph::Graph graph, HowToRun how, std::shared_ptr<RunMemory> memory,
                   std::shared_ptr<Weights> weights)
    : how_(std::move(how)), memory_(std::move(memory)), weights_(std::move(weights)) {
  passed_.nodes = CountNodes(graph);
  for (const auto& pass : graph::passes::LoadPasses()) {
    if (how_.passes_off.contains(std::string(pass.name))) continue;
    graph = pass.run(graph);
    passed_.passes.push_back({std::string(pass.name), CountNodes(graph)});
  }
  HandOver(&graph, weights_.get());
  graph_ = std::move(graph);
}

std::shared_ptr<Compiled::Slot> Compiled::SlotFor(const std::map<std::string, Tensor>& fed,
                                                  std::span<const size_t> wanted) const {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return std::ranges::equal(entry.wanted, wanted) &&
           std::ranges::equal(entry.shapes, fed, {}, {}, [](const auto& named) { return named.second.shape(); });
  });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
  } else {
    entries_.push_front({ShapesOf(fed), {wanted.begin(), wanted.end()}, std::make_shared<Slot>()});
    if (entries_.size() > kProgramsMax) entries_.pop_back();
  }
  return entries_.front().slot;
}

namespace {

std::map<std::string, graph::Type> TypesOf(const std::map<std::string, Tensor>& fed) {
  std::map<std::string, graph::Type> types;
  for (const auto& [name, value] : fed) types[name] = {value.type(), value.shape(), std::nullopt};
  return types;
}

}  // namespace

Compiled::ProgramPtr Compiled::ProgramFor(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                          Resources& resources, size_t memory_bytes_max) const {
  omp_set_num_threads(how_.threads);  // Of this thread: whoever's it is.
  const std::shared_ptr<Slot> slot = SlotFor(fed, wanted);
  std::call_once(slot->made, [&] {
    slot->program = Program::Make(Only(graph_, wanted), TypesOf(fed), *weights_, resources,
                                  !how_.passes_off.contains("elementwise"), memory_bytes_max);
  });
  return slot->program;
}

Result<std::vector<Tensor>> Compiled::Run(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                          Resources& resources, size_t memory_bytes_max) const {
  return ProgramFor(fed, wanted, resources, memory_bytes_max)->Run(fed, resources, *memory_, memory_bytes_max);
}

Result<std::vector<Tensor>> Compiled::Profile(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                              Resources& resources, size_t memory_bytes_max,
                                              RunProfile* profile) const {
  const ProgramPtr program = ProgramFor(fed, wanted, resources, memory_bytes_max);
  profile->bytes_peak = program->run_bytes();
  return program->Run(fed, resources, *memory_, memory_bytes_max, [&](size_t at, const Frame&, auto took) {
    const PlanStep& step = program->lines()[at];
    profile->nodes.push_back({.node = step.node, .op = step.op, .how = step.how, .took = took, .flops = step.flops});
  });
}

// Nothing is drawn in, so that the node is named and not what it was computed with.
Result<std::optional<reference::Origin>> Compiled::FindNonFinite(const std::map<std::string, Tensor>& fed,
                                                                 Resources& resources, size_t memory_bytes_max) const {
  omp_set_num_threads(how_.threads);
  const auto program = Program::Make(graph_, TypesOf(fed), *weights_, resources, false, memory_bytes_max);
  reference::Origins<ValueId> origins;
  for (const auto& [name, id] : program->fed()) {
    const auto& node = graph_.nodes[static_cast<size_t>(graph_.fed.at(name))];
    if (const auto given = fed.find(name); given != fed.end()) origins.Note(id, given->second, {node.name, node.op});
  }
  const auto trace = [&](size_t at, const Frame& frame, auto) {
    const PlanStep& step = program->lines()[at];
    reference::Maker maker{.node = step.node, .op = step.op};
    for (const ValueId read : program->ValuesOf(at).read) {
      const reference::Maker* blamed = origins.Of(read);
      if (blamed == nullptr) continue;
      maker = *blamed;
      break;
    }
    for (const ValueId made : program->ValuesOf(at).made) origins.Note(made, program->ValueIn(frame, made), maker);
  };
  RETURN_IF_ERROR(program->Run(fed, resources, *memory_, memory_bytes_max, trace));
  const std::vector<ValueId> outputs = program->outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (const reference::Maker* maker = origins.Of(outputs[i])) return reference::Origin{.output = i, .maker = *maker};
  }
  return std::nullopt;
}

PlanView Compiled::Explain(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                           Resources& resources) const {
  const ProgramPtr program = ProgramFor(fed, wanted, resources, SIZE_MAX);
  PlanView view = passed_;
  view.steps = program->lines();
  view.run_bytes = program->run_bytes();
  return view;
}

int64_t Compiled::memory_bytes(reference::kernels::CountedBuffers* counted) const {
  int64_t sum = weights_->memory_bytes(counted);
  for (const graph::Node& node : graph_.nodes) {
    for (const Tensor& value : node.values) {
      if (value.device() == tensor::Device{}) sum += reference::kernels::UncountedBytes(value, counted);
    }
  }
  return sum;
}

}  // namespace longshore::engine::cpu
