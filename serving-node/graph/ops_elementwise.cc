// Element-wise ops, and others whose output has the shape of their first input.
#include <algorithm>
#include <optional>

#include "serving-node/graph/array_rules.h"
#include "serving-node/graph/op_families.h"
#include "serving-node/graph/row_rules.h"
#include "serving-node/graph/shapes.h"

namespace longshore::graph {
namespace {

using tensor::DType;

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

// With incompatible_shape_error = false, operands that do not fit give one value for all.
std::vector<Type> ComparedOrNot(const Node& node, std::span<const Type> inputs) {
  const bool is_strict = node.attributes.Bool("incompatible_shape_error", true);
  const bool is_static = std::ranges::all_of(inputs, &Type::is_static);
  if (is_strict || is_static) return Compared(node, inputs);
  return {{DType::kBool, std::nullopt, std::nullopt}};
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

// `into_chain` is not set, because the CPU engine has no loop for such an op.
constexpr Fusing kProductActivation{.part = ProductPart::kActivation, .operands = 1};
constexpr Fusing kActivation{.part = ProductPart::kActivation, .operands = 1, .into_chain = true};
constexpr Fusing kUnary{.operands = 1, .into_chain = true};
constexpr Fusing kBiasSum{.part = ProductPart::kSum, .operands = 2, .into_chain = true};
constexpr Fusing kSum{.part = ProductPart::kSum, .operands = 2, .into_chain = true, .is_symmetric = true};
constexpr Fusing kBinary{.operands = 2, .into_chain = true};
constexpr Fusing kSymmetric{.operands = 2, .into_chain = true, .is_symmetric = true};

constexpr Op kOps[] = {
    {.name = "Abs", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kUnary},
    {.name = "Acos", .type = LikeFirst},
    {.name = "Acosh", .type = LikeFirst},
    {.name = "Add", .type = Broadcasted, .rows = ByRowOfAll, .fusing = kSum},
    {.name = "AddN", .type = Broadcasted},
    {.name = "AddV2", .type = Broadcasted, .rows = ByRowOfAll, .fusing = kSum},
    {.name = "AdjustContrastv2", .type = LikeFirst},
    {.name = "AdjustHue", .type = LikeFirst},
    {.name = "AdjustSaturation", .type = LikeFirst},
    {.name = "ApproximateEqual", .type = Predicate},
    {.name = "Asin", .type = LikeFirst},
    {.name = "Asinh", .type = LikeFirst},
    {.name = "Atan", .type = LikeFirst},
    {.name = "Atan2", .type = Broadcasted},
    {.name = "Atanh", .type = LikeFirst},
    {.name = "AttentionWeights", .type = LikeFirst, .is_fused = true},
    {.name = "Betainc", .type = Broadcasted},
    {.name = "BiasAdd", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kBiasSum},
    {.name = "BitwiseAnd", .type = Broadcasted},
    {.name = "BitwiseOr", .type = Broadcasted},
    {.name = "BitwiseXor", .type = Broadcasted},
    {.name = "Cast", .type = Casted, .rows = ByRowOfAll, .may_merge = true},
    {.name = "Ceil", .type = LikeFirst, .rows = ByRowOfAll},
    {.name = "CheckNumerics", .type = LikeFirst},
    {.name = "CheckNumericsV2", .type = LikeFirst},
    {.name = "Cholesky", .type = LikeFirst},
    {.name = "ClipByValue", .type = LikeFirst},
    {.name = "Cos", .type = LikeFirst, .rows = ByRowOfAll, .may_merge = true},
    {.name = "Cosh", .type = LikeFirst},
    {.name = "Cross", .type = LikeFirst},
    {.name = "Cumprod", .type = LikeFirst},
    {.name = "Cumsum", .type = LikeFirst},
    {.name = "CumulativeLogsumexp", .type = LikeFirst},
    {.name = "DecodeCSV", .type = CsvColumns},
    {.name = "Dequantize", .type = Dequantized},
    {.name = "Digamma", .type = LikeFirst},
    {.name = "Div", .type = Broadcasted, .rows = ByRowOfAll, .fusing = kBinary},
    {.name = "DivNoNan", .type = Broadcasted},
    {.name = "Elu", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kActivation},
    {.name = "EnsureShape", .type = LikeFirst},
    {.name = "Equal", .type = ComparedOrNot, .rows = ByRowOfAll, .may_merge = true},
    {.name = "Erf", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kUnary},
    {.name = "Erfc", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kUnary},
    {.name = "Erfinv", .type = LikeFirst},
    {.name = "Exp", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kUnary},
    {.name = "Expm1", .type = LikeFirst, .rows = ByRowOfAll},
    {.name = "FakeQuantWithMinMaxArgs", .type = LikeFirst},
    {.name = "FakeQuantWithMinMaxVars", .type = LikeFirst},
    {.name = "FakeQuantWithMinMaxVarsPerChannel", .type = LikeFirst},
    {.name = "Floor", .type = LikeFirst, .rows = ByRowOfAll},
    {.name = "FloorDiv", .type = Broadcasted, .rows = ByRowOfAll, .may_merge = true},
    {.name = "FloorMod", .type = Broadcasted, .rows = ByRowOfAll, .may_merge = true},
    {.name = "FusedBatchNorm", .type = LikeFirst},
    {.name = "FusedBatchNormV2", .type = LikeFirst},
    {.name = "FusedBatchNormV3", .type = LikeFirst},
    {.name = "Gelu", .type = LikeFirst, .fusing = kUnary, .is_fused = true},
    {.name = "GeluTanh", .type = LikeFirst, .fusing = kUnary, .is_fused = true},
    {.name = "Greater", .type = Compared, .rows = ByRowOfAll, .may_merge = true},
    {.name = "GreaterEqual", .type = Compared, .rows = ByRowOfAll, .may_merge = true},
    {.name = "HSVToRGB", .type = LikeFirst},
    {.name = "Identity", .type = LikeFirst, .flops = NoFlops, .is_identity = true},
    {.name = "Igamma", .type = Broadcasted},
    {.name = "Igammac", .type = Broadcasted},
    {.name = "Inv", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kUnary},
    {.name = "Invert", .type = LikeFirst},
    {.name = "InvertPermutation", .type = LikeFirst},
    {.name = "IsFinite", .type = Predicate},
    {.name = "IsInf", .type = Predicate},
    {.name = "IsNan", .type = Predicate},
    {.name = "LayerNorm", .type = LikeFirst, .is_fused = true},
    {.name = "LeakyRelu", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kProductActivation},
    {.name = "LeftShift", .type = Broadcasted},
    {.name = "Less", .type = Compared, .rows = ByRowOfAll, .may_merge = true},
    {.name = "LessEqual", .type = Compared, .rows = ByRowOfAll, .may_merge = true},
    {.name = "Lgamma", .type = LikeFirst},
    {.name = "Log", .type = LikeFirst, .rows = ByRowOfAll},
    {.name = "Log1p", .type = LikeFirst, .rows = ByRowOfAll},
    {.name = "LogicalAnd", .type = Broadcasted, .rows = ByRowOfAll, .may_merge = true},
    {.name = "LogicalNot", .type = LikeFirst, .rows = ByRowOfAll, .may_merge = true},
    {.name = "LogicalOr", .type = Broadcasted, .rows = ByRowOfAll, .may_merge = true},
    {.name = "LogSoftmax", .type = LikeFirst, .rows = ByRowOfSoftmax},
    {.name = "LRN", .type = LikeFirst},
    {.name = "MatrixInverse", .type = LikeFirst},
    {.name = "MatrixSetDiag", .type = LikeFirst},
    {.name = "MatrixSetDiagV2", .type = LikeFirst},
    {.name = "MatrixSetDiagV3", .type = LikeFirst},
    {.name = "Maximum", .type = Broadcasted, .rows = ByRowOfAll, .fusing = kSymmetric},
    {.name = "Minimum", .type = Broadcasted, .rows = ByRowOfAll, .fusing = kSymmetric},
    {.name = "Mod", .type = Broadcasted},
    {.name = "Mul", .type = Broadcasted, .rows = ByRowOfAll, .fusing = kSymmetric},
    {.name = "MulNoNan", .type = Broadcasted},
    {.name = "Ndtri", .type = LikeFirst},
    {.name = "Neg", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kUnary},
    {.name = "NextAfter", .type = Broadcasted},
    {.name = "NotEqual", .type = ComparedOrNot, .rows = ByRowOfAll, .may_merge = true},
    {.name = "OnesLike", .type = LikeFirst, .flops = NoFlops},
    {.name = "Polygamma", .type = Broadcasted},
    {.name = "Pow", .type = Broadcasted, .rows = ByRowOfAll},
    {.name = "PreventGradient", .type = LikeFirst, .flops = NoFlops, .is_identity = true},
    {.name = "QuantizeAndDequantizeV2", .type = LikeFirst},
    {.name = "QuantizeAndDequantizeV3", .type = LikeFirst},
    {.name = "QuantizeAndDequantizeV4", .type = LikeFirst},
    {.name = "QuantizeV2", .type = Quantized},
    {.name = "RandomShuffle", .type = LikeFirst},
    {.name = "RealDiv", .type = Broadcasted, .rows = ByRowOfAll, .fusing = kBinary},
    {.name = "Reciprocal", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kUnary},
    {.name = "Relu", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kActivation},
    {.name = "Relu6", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kActivation},
    {.name = "Reverse", .type = LikeFirst},
    {.name = "ReverseSequence", .type = LikeFirst},
    {.name = "ReverseV2", .type = LikeFirst, .flops = NoFlops},
    {.name = "RGBToHSV", .type = LikeFirst},
    {.name = "RightShift", .type = Broadcasted},
    {.name = "Rint", .type = LikeFirst},
    {.name = "Round", .type = LikeFirst, .rows = ByRowOfAll},
    {.name = "Rsqrt", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kUnary},
    {.name = "Select", .type = Selected},
    {.name = "SelectV2", .type = Selected, .rows = ByRowOfAll},
    {.name = "Selu", .type = LikeFirst, .rows = ByRowOfAll},
    {.name = "Sigmoid", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kActivation},
    {.name = "Sign", .type = LikeFirst},
    {.name = "Silu", .type = LikeFirst, .fusing = kActivation, .is_fused = true},
    {.name = "Sin", .type = LikeFirst, .rows = ByRowOfAll, .may_merge = true},
    {.name = "Sinh", .type = LikeFirst},
    {.name = "Snapshot", .type = LikeFirst, .flops = NoFlops, .is_identity = true},
    {.name = "Softmax", .type = LikeFirst, .rows = ByRowOfSoftmax},
    {.name = "Softplus", .type = LikeFirst, .rows = ByRowOfAll},
    {.name = "Softsign", .type = LikeFirst, .rows = ByRowOfAll},
    {.name = "Sqrt", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kUnary},
    {.name = "Square", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kUnary},
    {.name = "SquaredDifference", .type = Broadcasted, .rows = ByRowOfAll, .fusing = kSymmetric},
    {.name = "StopGradient", .type = LikeFirst, .flops = NoFlops, .is_identity = true},
    {.name = "Sub", .type = Broadcasted, .rows = ByRowOfAll, .fusing = kBinary},
    {.name = "Tan", .type = LikeFirst},
    {.name = "Tanh", .type = LikeFirst, .rows = ByRowOfAll, .fusing = kActivation},
    {.name = "TensorScatterAdd", .type = LikeFirst},
    {.name = "TensorScatterMax", .type = LikeFirst},
    {.name = "TensorScatterMin", .type = LikeFirst},
    {.name = "TensorScatterSub", .type = LikeFirst},
    {.name = "TensorScatterUpdate", .type = LikeFirst},
    {.name = "TruncateDiv", .type = Broadcasted},
    {.name = "TruncateMod", .type = Broadcasted},
    {.name = "Xdivy", .type = Broadcasted},
    {.name = "Xlog1py", .type = Broadcasted},
    {.name = "Xlogy", .type = Broadcasted},
    {.name = "ZerosLike", .type = LikeFirst, .flops = NoFlops},
    {.name = "Zeta", .type = Broadcasted},
};

}  // namespace

std::span<const Op> ElementwiseOps() { return kOps; }

}  // namespace longshore::graph
