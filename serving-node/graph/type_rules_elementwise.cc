// Element-wise ops, and others whose output has the shape of their first input.
#include <algorithm>
#include <unordered_map>

#include "serving-node/graph/shapes.h"
#include "serving-node/graph/type_rules.h"

namespace longshore::graph {
namespace {

using tensor::DType;

std::vector<Type> LikeFirst(const Node& /*node*/, std::span<const Type> inputs) {
  if (inputs.empty()) return {};
  return {{inputs[0].type, inputs[0].shape, std::nullopt}};
}

std::optional<tensor::Shape> ShapeOfAll(std::span<const Type> inputs) {
  if (inputs.empty() || !inputs[0].shape) return std::nullopt;
  std::optional<tensor::Shape> shape = inputs[0].shape;
  for (const Type& input : inputs.subspan(1)) {
    if (!input.shape || !shape) return std::nullopt;
    shape = Broadcast(*shape, *input.shape);
  }
  return shape;
}

std::vector<Type> Broadcasted(const Node& /*node*/, std::span<const Type> inputs) {
  if (inputs.empty()) return {};
  return {{inputs[0].type, ShapeOfAll(inputs), std::nullopt}};
}

std::vector<Type> Compared(const Node& /*node*/, std::span<const Type> inputs) {
  return {{DType::kBool, ShapeOfAll(inputs), std::nullopt}};
}

std::vector<Type> Predicate(const Node& /*node*/, std::span<const Type> inputs) {
  if (inputs.empty()) return {};
  return {{DType::kBool, inputs[0].shape, std::nullopt}};
}

std::vector<Type> Selected(const Node& node, std::span<const Type> inputs) {
  if (inputs.size() != 3) return {};
  if (node.op == "Select") return {{inputs[1].type, inputs[1].shape, std::nullopt}};
  return {{inputs[1].type, ShapeOfAll(inputs), std::nullopt}};
}

std::vector<Type> Casted(const Node& node, std::span<const Type> inputs) {
  if (inputs.empty()) return {};
  return {{node.attributes.Type("DstT"), inputs[0].shape, std::nullopt}};
}

std::vector<Type> Dequantized(const Node& node, std::span<const Type> inputs) {
  if (inputs.empty()) return {};
  return {{node.attributes.Type("dtype", DType::kFloat), inputs[0].shape, std::nullopt}};
}

// The second and third outputs are the range of the quantized values: scalars, or one value for each index of "axis".
std::vector<Type> Quantized(const Node& node, std::span<const Type> inputs) {
  if (inputs.empty()) return {};
  const int64_t axis = node.attributes.Int("axis", -1);
  std::optional<tensor::Shape> ends;
  if (axis < 0) ends = tensor::Shape{};
  const Type end{DType::kFloat, ends, std::nullopt};
  return {{node.attributes.Type("T"), inputs[0].shape, std::nullopt}, end, end};
}

// One output per column, with the element type of the column's default value (inputs 1, 2, ...).
std::vector<Type> CsvColumns(const Node& /*node*/, std::span<const Type> inputs) {
  std::vector<Type> columns;
  for (size_t i = 1; i < inputs.size(); ++i) columns.push_back({inputs[i].type, inputs[0].shape, std::nullopt});
  return columns;
}

std::unordered_map<std::string_view, TypeRule> MakeRules() {
  std::unordered_map<std::string_view, TypeRule> rules;
  for (const char* op : {"Abs",
                         "Acos",
                         "Acosh",
                         "Asin",
                         "Asinh",
                         "Atan",
                         "Atanh",
                         "AttentionWeights",
                         "BiasAdd",
                         "Ceil",
                         "Cos",
                         "Cosh",
                         "Digamma",
                         "Elu",
                         "Erf",
                         "Erfc",
                         "Erfinv",
                         "Exp",
                         "Expm1",
                         "Floor",
                         "Gelu",
                         "GeluTanh",
                         "Identity",
                         "Inv",
                         "Invert",
                         "LayerNorm",
                         "LeakyRelu",
                         "Lgamma",
                         "Log",
                         "Log1p",
                         "LogicalNot",
                         "LogSoftmax",
                         "Neg",
                         "Ndtri",
                         "OnesLike",
                         "PreventGradient",
                         "Reciprocal",
                         "Relu",
                         "Relu6",
                         "Rint",
                         "Round",
                         "Rsqrt",
                         "Selu",
                         "Sigmoid",
                         "Silu",
                         "Sign",
                         "Sin",
                         "Sinh",
                         "Snapshot",
                         "Softmax",
                         "Softplus",
                         "Softsign",
                         "Sqrt",
                         "Square",
                         "StopGradient",
                         "Tan",
                         "Tanh",
                         "ZerosLike",
                         "FusedBatchNorm",
                         "FusedBatchNormV2",
                         "FusedBatchNormV3",
                         "LRN",
                         "CheckNumerics",
                         "ClipByValue",
                         "Cumsum",
                         "Cumprod",
                         "ReverseV2"}) {
    rules[op] = LikeFirst;
  }
  for (const char* op : {"Add",        "AddV2",       "Atan2",       "BitwiseAnd", "BitwiseOr",
                         "BitwiseXor", "Div",         "DivNoNan",    "FloorDiv",   "FloorMod",
                         "LogicalAnd", "LogicalOr",   "Maximum",     "Minimum",    "Mod",
                         "Mul",        "MulNoNan",    "Pow",         "RealDiv",    "SquaredDifference",
                         "Sub",        "TruncateDiv", "TruncateMod", "Xdivy",      "Xlogy",
                         "Xlog1py",    "AddN"}) {
    rules[op] = Broadcasted;
  }
  for (const char* op : {"Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual"}) rules[op] = Compared;
  for (const char* op : {"IsFinite", "IsInf", "IsNan"}) rules[op] = Predicate;
  for (const char* op : {"Select", "SelectV2"}) rules[op] = Selected;
  rules["Cast"] = Casted;
  rules["DecodeCSV"] = CsvColumns;
  rules["Dequantize"] = Dequantized;
  rules["QuantizeV2"] = Quantized;
  return rules;
}

}  // namespace

TypeRule FindElementwiseRule(std::string_view op) {
  static const auto kRules = MakeRules();
  const auto found = kRules.find(op);
  return found == kRules.end() ? nullptr : found->second;
}

uint32_t InputsMoved(const Node& node) {
  static const std::unordered_map<std::string_view, uint32_t> kMoved = {
      {"BatchToSpaceND", 1}, {"BroadcastTo", 1}, {"DepthToSpace", 1},   {"ExpandDims", 1},
      {"Fill", 2},           {"Gather", 3},      {"GatherNd", 3},       {"GatherV2", 3},
      {"MirrorPad", 1},      {"OneHot", 13},     {"Pack", ~0U},         {"Pad", 1},
      {"PadV2", 1},          {"Reshape", 1},     {"ResizeBilinear", 1}, {"ResizeNearestNeighbor", 1},
      {"Roll", 1},           {"Slice", 1},       {"SpaceToBatchND", 1}, {"SpaceToDepth", 1},
      {"Split", 2},          {"SplitV", 1},      {"Squeeze", 1},        {"StridedSlice", 1},
      {"Tile", 1},           {"TopKV2", 1},      {"Transpose", 1},      {"Unpack", 1}};
  if (node.op == "ConcatV2") return (uint32_t{1} << (std::clamp<size_t>(node.inputs.size(), 1, 32) - 1)) - 1;
  const auto found = kMoved.find(node.op);
  return found == kMoved.end() ? 0 : found->second;
}

}  // namespace longshore::graph
