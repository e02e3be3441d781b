#include <algorithm>
#include <new>
#include <unordered_map>

#include "serving-node/engine/cpu/steps/onednn.h"

namespace longshore::engine::cpu {
namespace {

// What oneDNN does not do for these shapes is left to whatever comes next.
template <MakeStep kMake>
StepPtr WhereOneDnnCan(const StepContext& context) try {
  return kMake(context);
} catch (const dnnl::error& refused) {
  if (refused.status == dnnl_out_of_memory) throw std::bad_alloc();
  return nullptr;
}

}  // namespace

size_t StepContext::operands_drawn_in() const {
  return static_cast<size_t>(
      std::ranges::count_if(node.then, [](const graph::Fused& fused) { return fused.operand >= 0; }));
}

std::span<const MakeStep> FastSteps(std::string_view op) {
  static const std::unordered_map<std::string_view, std::vector<MakeStep>> kSteps = [] {
    std::unordered_map<std::string_view, std::vector<MakeStep>> steps;
    for (const char* name : {"Conv2D", "DepthwiseConv2dNative"}) steps[name] = {WhereOneDnnCan<MakeConvolution>};
    for (const char* name : {"MatMul", "BatchMatMul", "BatchMatMulV2"}) steps[name] = {WhereOneDnnCan<MakeProduct>};
    for (const char* name : {"MaxPool", "AvgPool"}) steps[name] = {WhereOneDnnCan<MakePooling>};
    for (const char* name : {"Softmax", "LogSoftmax"}) steps[name] = {MakeSoftmax};
    for (const char* name : {"Sum", "Mean", "Max"}) steps[name] = {MakeReduction};
    for (const char* name : {"Abs",     "Add",  "AddV2",   "BiasAdd",           "Div",  "Elu",     "Erf",
                             "Erfc",    "Exp",  "Gelu",    "GeluTanh",          "Inv",  "Maximum", "Minimum",
                             "Mul",     "Neg",  "RealDiv", "Reciprocal",        "Relu", "Relu6",   "Rsqrt",
                             "Sigmoid", "Sqrt", "Square",  "SquaredDifference", "Sub",  "Tanh"}) {
      steps[name] = {MakeElementwise};
    }
    steps["Einsum"] = {WhereOneDnnCan<MakeEinsum>};
    steps["AttentionWeights"] = {MakeAttention};
    steps["LayerNorm"] = {MakeLayerNorm};
    steps["SelectV2"] = {MakeSelect};
    steps["ConcatV2"] = {MakeConcat};
    steps["Pad"] = {MakePad};
    steps["Split"] = {MakeSplit};
    return steps;
  }();
  const auto found = kSteps.find(op);
  return found == kSteps.end() ? std::span<const MakeStep>() : std::span<const MakeStep>(found->second);
}

}  // namespace longshore::engine::cpu
