#include <algorithm>
#include <iterator>
#include <new>

#include "serving-node/engine/cpu/steps/loops.h"
#include "serving-node/engine/cpu/steps/onednn.h"

namespace longshore::engine::cpu {
namespace {

// Returns nullptr if oneDNN does not support the op for these shapes, so that the op runs its kernel.
template <MakeStep kMake>
StepPtr IfOneDnnSupports(const StepContext& context) try {
  return kMake(context);
} catch (const dnnl::error& refused) {
  if (refused.status == dnnl_out_of_memory) throw std::bad_alloc();
  return nullptr;
}

struct FastStep {
  std::string_view op;
  MakeStep make = nullptr;
  bool is_sum = true;  // See IsSum.
};

// Element-wise ops are not listed here: each that has a loop (loops.h) has the fast step MakeElementwise.
constexpr FastStep kFastSteps[] = {
    {"AttentionWeights", MakeAttention},
    {"AvgPool", IfOneDnnSupports<MakePooling>},
    {"BatchMatMul", IfOneDnnSupports<MakeProduct>},
    {"BatchMatMulV2", IfOneDnnSupports<MakeProduct>},
    {"ConcatV2", MakeConcat, false},
    {"Conv2D", IfOneDnnSupports<MakeConvolution>},
    {"DepthwiseConv2dNative", IfOneDnnSupports<MakeConvolution>},
    {"Einsum", IfOneDnnSupports<MakeEinsum>},
    {"LayerNorm", MakeLayerNorm},
    {"LogSoftmax", MakeSoftmax},
    {"MatMul", IfOneDnnSupports<MakeProduct>},
    {"Max", MakeReduction},
    {"MaxPool", IfOneDnnSupports<MakePooling>},
    {"Mean", MakeReduction},
    {"Pad", MakePad, false},
    {"SelectV2", MakeSelect, false},
    {"Softmax", MakeSoftmax},
    {"Split", MakeSplit, false},
    {"Sum", MakeReduction},
};

}  // namespace

size_t StepContext::fused_operands() const {
  return static_cast<size_t>(
      std::ranges::count_if(node.then, [](const graph::Fused& fused) { return fused.operand >= 0; }));
}

MakeStep FindFastStep(std::string_view op) {
  const auto found = std::ranges::find(kFastSteps, op, &FastStep::op);
  if (found != std::end(kFastSteps)) return found->make;
  return FindUnaryLoop(op) != nullptr || FindBinaryLoops(op) != nullptr ? MakeElementwise : nullptr;
}

bool IsSum(std::string_view op) {
  const auto found = std::ranges::find(kFastSteps, op, &FastStep::op);
  return found != std::end(kFastSteps) && found->is_sum;
}

}  // namespace longshore::engine::cpu
