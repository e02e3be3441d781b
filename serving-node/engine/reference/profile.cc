// A run that is watched: what every node costs, and how much is held at once.
#include <algorithm>

#include "serving-node/engine/reference/flops.h"
#include "serving-node/engine/reference/plan.h"

namespace longshore::engine::reference {
namespace {

using tensor::Shape;
using tensor::Tensor;
using Clock = std::chrono::steady_clock;

std::vector<Shape> ShapesOf(std::span<const Tensor> tensors) {
  std::vector<Shape> shapes;
  for (const auto& tensor : tensors) shapes.push_back(tensor.shape());
  return shapes;
}

}  // namespace

Result<std::vector<Tensor>> Plan::Profile(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                          kernels::Resources& resources, size_t memory_bytes_max,
                                          RunProfile* profile) const {
  std::vector<size_t> held(graph_.nodes.size(), 0);  // By node: bytes of its outputs.
  size_t held_bytes = 0;
  auto began = Clock::now();
  const auto count = [&](size_t at, const std::vector<Tensor>& outputs) {
    held[at] = kernels::HeldBytes(outputs);
    held_bytes += held[at];
    profile->bytes_peak = std::max(profile->bytes_peak, held_bytes);
    for (const int freed : freed_after_[at]) held_bytes -= held[static_cast<size_t>(freed)];
  };
  const auto watch = [&](const graph::Node& node, std::span<const Tensor> inputs, const std::vector<Tensor>& outputs) {
    const auto ended = Clock::now();
    profile->nodes.push_back({.node = node.name,
                              .op = node.op,
                              .how = "kernel",
                              .took = ended - began,
                              .flops = Flops(node, ShapesOf(inputs), ShapesOf(outputs))});
    const auto at = &node - graph_.nodes.data();
    const bool is_ours = at >= 0 && static_cast<size_t>(at) < graph_.nodes.size();  // And not of a body.
    if (is_ours) count(static_cast<size_t>(at), outputs);
    began = Clock::now();  // What is measured is the node, not the watching.
  };
  return Run(fed, wanted, resources, memory_bytes_max, watch);
}

}  // namespace longshore::engine::reference
