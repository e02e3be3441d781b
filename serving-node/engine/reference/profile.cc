// A run that is watched: what every node costs, and how much is held at once.
#include <algorithm>

#include "serving-node/engine/reference/flops.h"
#include "serving-node/engine/reference/plan.h"

namespace longshore::engine::reference {
namespace {

using tensor::Shape;
using tensor::Tensor;
using Clock = std::chrono::steady_clock;

std::vector<Shape> ShapesOf(const std::vector<Tensor>& tensors) {
  std::vector<Shape> shapes;
  for (const auto& tensor : tensors) shapes.push_back(tensor.shape());
  return shapes;
}

}  // namespace

Result<std::vector<Tensor>> Plan::Profile(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                          kernels::Resources& resources, size_t memory_bytes_max,
                                          RunProfile* profile) const {
  std::vector<std::vector<Shape>> shapes(graph_.nodes.size());
  for (size_t i = 0; i < folded_.size(); ++i) shapes[i] = ShapesOf(folded_[i]);
  for (const auto& [name, node] : graph_.fed) {
    if (const auto given = fed.find(name); given != fed.end())
      shapes[static_cast<size_t>(node)] = {given->second.shape()};
  }
  std::vector<size_t> held(graph_.nodes.size(), 0);  // By node: bytes of its outputs.
  size_t held_bytes = 0;
  auto began = Clock::now();
  const auto watch = [&](size_t at, const std::vector<Tensor>& outputs) {
    const auto ended = Clock::now();
    const graph::Node& node = graph_.nodes[at];
    std::vector<Shape> inputs;
    for (const graph::Edge& edge : node.inputs)
      inputs.push_back(shapes[static_cast<size_t>(edge.node)][static_cast<size_t>(edge.output)]);
    shapes[at] = ShapesOf(outputs);
    profile->nodes.push_back(
        {.node = node.name, .op = node.op, .took = ended - began, .flops = Flops(node, inputs, shapes[at])});
    held[at] = HeldBytes(outputs);
    held_bytes += held[at];
    profile->bytes_peak = std::max(profile->bytes_peak, held_bytes);
    for (const int freed : freed_after_[at]) held_bytes -= held[static_cast<size_t>(freed)];
    began = Clock::now();  // What is measured is the node, not the watching.
  };
  return Run(fed, wanted, resources, memory_bytes_max, watch);
}

}  // namespace longshore::engine::reference
