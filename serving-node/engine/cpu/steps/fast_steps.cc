#include <algorithm>
#include <new>
#include <unordered_map>

#include "serving-node/engine/cpu/steps/loops.h"
#include "serving-node/engine/cpu/steps/onednn.h"

namespace longshore::engine::cpu {
namespace {

// Returns nullptr if oneDNN does not support the op for these shapes, so that the next implementation is tried.
template <MakeStep kMake>
StepPtr IfOneDnnSupports(const StepContext& context) try {
  return kMake(context);
} catch (const dnnl::error& refused) {
  if (refused.status == dnnl_out_of_memory) throw std::bad_alloc();
  return nullptr;
}

}  // namespace

size_t StepContext::fused_operands() const {
  return static_cast<size_t>(
      std::ranges::count_if(node.then, [](const graph::Fused& fused) { return fused.operand >= 0; }));
}

std::span<const MakeStep> FastSteps(std::string_view op) {
  static const std::unordered_map<std::string_view, std::vector<MakeStep>> kSteps = [] {
    std::unordered_map<std::string_view, std::vector<MakeStep>> steps;
    for (const char* name : {"Conv2D", "DepthwiseConv2dNative"}) steps[name] = {IfOneDnnSupports<MakeConvolution>};
    for (const char* name : {"MatMul", "BatchMatMul", "BatchMatMulV2"}) steps[name] = {IfOneDnnSupports<MakeProduct>};
    for (const char* name : {"MaxPool", "AvgPool"}) steps[name] = {IfOneDnnSupports<MakePooling>};
    for (const char* name : {"Softmax", "LogSoftmax"}) steps[name] = {MakeSoftmax};
    for (const char* name : {"Sum", "Mean", "Max"}) steps[name] = {MakeReduction};
    steps["Einsum"] = {IfOneDnnSupports<MakeEinsum>};
    steps["AttentionWeights"] = {MakeAttention};
    steps["LayerNorm"] = {MakeLayerNorm};
    steps["SelectV2"] = {MakeSelect};
    steps["ConcatV2"] = {MakeConcat};
    steps["Pad"] = {MakePad};
    steps["Split"] = {MakeSplit};
    return steps;
  }();
  static constexpr MakeStep kOfLoops[] = {MakeElementwise};
  if (const auto found = kSteps.find(op); found != kSteps.end()) return found->second;
  const bool has_loop = FindUnaryLoop(op) != nullptr || FindBinaryLoops(op) != nullptr;
  return has_loop ? std::span<const MakeStep>(kOfLoops) : std::span<const MakeStep>();
}

}  // namespace longshore::engine::cpu
