#include "serving-node/engine/cpu/compiled.h"

#include <omp.h>

#include <algorithm>

#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/prune.h"

namespace longshore::engine::cpu {
namespace {

// `seen`: told of each pass, and of the graph that it left.
template <typename Seen>
graph::Graph Passed(graph::Graph graph, const std::set<std::string>& off, const Seen& seen) {
  for (const auto& pass : graph::passes::LoadPasses()) {
    if (off.contains(std::string(pass.name))) continue;
    graph = pass.run(graph);
    seen(pass, graph);
  }
  return graph;
}

bool IsComputed(const graph::Node& node) { return node.op != "Placeholder" && node.values.empty(); }

size_t CountNodes(const graph::Graph& graph) {
  return static_cast<size_t>(std::ranges::count_if(graph.nodes, IsComputed));
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

Compiled::Compiled(const reference::Plan& plan, HowToRun how, std::shared_ptr<RunMemory> memory)
    : plan_(plan), how_(std::move(how)), memory_(std::move(memory)) {
  if (!plan.has_bodies()) graph_ = Passed(plan.ToGraph(), how_.passes_off, [](const auto&, const auto&) {});
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

Compiled::ProgramPtr Compiled::ProgramFor(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                          Resources& resources, size_t memory_bytes_max) const {
  const std::shared_ptr<Slot> slot = SlotFor(fed, wanted);
  std::call_once(slot->made, [&] {
    std::map<std::string, graph::Type> types;
    for (const auto& [name, value] : fed) types[name] = {value.type(), value.shape(), std::nullopt};
    slot->program = Program::Make(Only(graph_, wanted), types, packed_, resources,
                                  !how_.passes_off.contains("elementwise"), memory_bytes_max);
  });
  return slot->program;
}

Result<std::vector<Tensor>> Compiled::Run(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                          Resources& resources, size_t memory_bytes_max,
                                          const reference::kernels::RunLimits& limits) const {
  omp_set_num_threads(how_.threads);  // Of this thread: whoever's it is.
  const ProgramPtr program = plan_.has_bodies() ? nullptr : ProgramFor(fed, wanted, resources, memory_bytes_max);
  if (!program) return plan_.Run(fed, wanted, resources, memory_bytes_max, nullptr, limits);
  return program->Run(fed, resources, *memory_, memory_bytes_max);
}

Result<std::vector<Tensor>> Compiled::Profile(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                              Resources& resources, size_t memory_bytes_max,
                                              RunProfile* profile) const {
  omp_set_num_threads(how_.threads);
  const ProgramPtr program = plan_.has_bodies() ? nullptr : ProgramFor(fed, wanted, resources, memory_bytes_max);
  if (!program) return plan_.Profile(fed, wanted, resources, memory_bytes_max, profile);
  profile->bytes_peak = program->run_bytes();
  return program->Run(fed, resources, *memory_, memory_bytes_max, [&](const PlanStep& step, auto took) {
    profile->nodes.push_back({.node = step.node, .op = step.op, .how = step.how, .took = took, .flops = step.flops});
  });
}

PlanView Compiled::Explain(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                           Resources& resources) const {
  omp_set_num_threads(how_.threads);
  if (plan_.has_bodies()) return plan_.Explain();
  const ProgramPtr program = ProgramFor(fed, wanted, resources, SIZE_MAX);
  if (!program) return plan_.Explain();
  graph::Graph graph = plan_.ToGraph();
  PlanView view{.nodes = CountNodes(graph), .passes = {}, .steps = {}, .run_bytes = 0};
  Passed(std::move(graph), how_.passes_off, [&](const auto& pass, const graph::Graph& left) {
    view.passes.push_back({std::string(pass.name), CountNodes(left)});
  });
  view.steps = program->lines();
  view.run_bytes = program->run_bytes();
  return view;
}

int64_t Compiled::memory_bytes() const { return packed_.bytes(); }

}  // namespace longshore::engine::cpu
