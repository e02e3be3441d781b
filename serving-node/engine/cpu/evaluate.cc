#include "serving-node/engine/cpu/evaluate.h"

#include <algorithm>

#include "serving-node/engine/kernels/registry.h"

namespace longshore::engine::cpu {
namespace {

using tensor::Tensor;

bool HasNumbersOrTexts(std::span<const Tensor> tensors) {
  return std::ranges::all_of(tensors, [](const Tensor& tensor) {
    return tensor.device() == tensor::Device{} &&
           (tensor::ElementBytes(tensor.type()) > 0 || tensor.type() == tensor::DType::kString);
  });
}

}  // namespace

graph::Evaluate EvaluateByKernels(kernels::Resources& resources, size_t bytes_max) {
  return [&resources, bytes_max](const graph::Node& node,
                                 std::span<const Tensor> inputs) -> std::optional<std::vector<Tensor>> {
    const auto* kernel = kernels::FindKernel(node.op);
    if (kernel == nullptr || !kernel->is_foldable || node.has_effect || !node.then.empty()) return std::nullopt;
    if (inputs.size() < static_cast<size_t>(kernel->inputs_min) || !HasNumbersOrTexts(inputs)) return std::nullopt;
    const kernels::Call call{node, inputs, resources, bytes_max};
    if (!call.CheckEmptyInputs()) return std::nullopt;
    auto made = kernel->compute(call);
    if (!made || !HasNumbersOrTexts(*made)) return std::nullopt;
    return std::move(*made);
  };
}

}  // namespace longshore::engine::cpu
