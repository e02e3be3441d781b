// Measures the cost of every node of a run, and the memory that the run holds at once.
#include <algorithm>
#include <new>

#include "serving-node/engine/interpreter/plan.h"
#include "serving-node/graph/flops.h"

namespace longshore::engine::interpreter {
namespace {

using tensor::Shape;
using tensor::Tensor;
using Clock = std::chrono::steady_clock;

std::vector<Shape> ShapesOf(std::span<const Tensor> tensors) {
  std::vector<Shape> shapes;
  for (const auto& tensor : tensors) shapes.push_back(tensor.shape());
  return shapes;
}

std::string OutputText(std::span<const Tensor> outputs) { return outputs.empty() ? "" : TypeText(outputs[0]); }

}  // namespace

Result<std::vector<Tensor>> Plan::Profile(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                          kernels::Resources& resources, size_t memory_bytes_max, RunProfile* profile,
                                          const kernels::RunLimits& limits) const {
  std::vector<size_t> held(graph_.nodes.size(), 0);  // The bytes of each node's outputs.
  size_t held_bytes = 0;
  auto began = Clock::now();
  const auto watch = [&](const graph::Node& node, std::span<const Tensor> inputs, const std::vector<Tensor>& outputs) {
    const auto ended = Clock::now();
    const auto at = static_cast<size_t>(&node - graph_.nodes.data());
    const bool is_own_node = at < graph_.nodes.size();  // False for nodes of bodies.
    const size_t bytes = kernels::HeldBytes(outputs);
    if (is_own_node) held_bytes += held[at] = bytes;
    profile->bytes_peak = std::max(profile->bytes_peak, held_bytes);
    try {
      profile->Note({.node = node.name,
                     .op = node.op,
                     .how = "kernel",
                     .output = OutputText(outputs),
                     .took = ended - began,
                     .began = began - profile->began,
                     .ended = ended - profile->began,
                     .flops = graph::Flops(node, ShapesOf(inputs), ShapesOf(outputs)),
                     .bytes = bytes,
                     .held_bytes = held_bytes});
    } catch (const std::bad_alloc&) {
      profile->left_out += 1;
    }
    for (const int freed : is_own_node ? freed_after_[at] : std::vector<int>())
      held_bytes -= held[static_cast<size_t>(freed)];
    began = Clock::now();  // The next step then excludes the time spent in this function.
  };
  return Run(fed, wanted, resources, memory_bytes_max, watch, limits);
}

}  // namespace longshore::engine::interpreter
