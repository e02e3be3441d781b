// Products, convolutions, pooling and recurrent cells.
#include <algorithm>
#include <initializer_list>
#include <map>

#include "serving-node/graph/einsum_equation.h"
#include "serving-node/graph/op_families.h"
#include "serving-node/graph/row_rules.h"
#include "serving-node/graph/shapes.h"

namespace longshore::graph {
namespace {

using tensor::DType;
using tensor::Shape;

std::vector<Type> One(DType type, Shape shape) { return {{type, std::move(shape), std::nullopt}}; }

std::vector<Type> MatrixProduct(const Node& node, std::span<const Type> inputs) {
  if (inputs.size() < 2 || !inputs[0].shape || !inputs[1].shape) return {};
  const Shape& a = *inputs[0].shape;
  const Shape& b = *inputs[1].shape;
  if (a.size() < 2 || b.size() < 2) return {};
  const bool turn_a = node.attributes.Bool("transpose_a", false) || node.attributes.Bool("adj_x", false);
  const bool turn_b = node.attributes.Bool("transpose_b", false) || node.attributes.Bool("adj_y", false);
  auto shape = Broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!shape) return {};
  shape->push_back(a[a.size() - (turn_a ? 1 : 2)]);
  shape->push_back(b[b.size() - (turn_b ? 2 : 1)]);
  return One(inputs[0].type, std::move(*shape));
}

// The number of positions of a window that slides along one axis; -1 if it is unknown or the arguments are not valid.
int64_t WindowPositions(int64_t size, int64_t window, int64_t stride, int64_t dilation, const std::string& padding) {
  if (size < 0 || window < 1 || stride < 1 || dilation < 1) return -1;
  if (padding == "SAME") return size == 0 ? 0 : (size - 1) / stride + 1;
  int64_t reach = 0;  // The distance from the first to the last element of the window.
  if (__builtin_mul_overflow(window - 1, dilation, &reach)) return -1;
  return size <= reach ? 0 : (size - reach - 1) / stride + 1;
}

struct Direction {
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t padded = 0;  // The explicit padding before plus after the axis; -1: it is not valid.
};

// Returns stride, dilation and explicit padding along axis `axis` of [batch, height, width, channels].
Direction DirectionOf(const Node& node, size_t axis) {
  const auto at = [&](const char* name, size_t i, int64_t absent) {
    const auto values = node.attributes.Ints(name);
    return i < values.size() ? values[i] : absent;
  };
  Direction direction{.stride = at("strides", axis, 1), .dilation = at("dilations", axis, 1)};
  const int64_t before = at("explicit_paddings", 2 * axis, 0), after = at("explicit_paddings", 2 * axis + 1, 0);
  if (__builtin_add_overflow(before, after, &direction.padded) || before < 0 || after < 0) direction.padded = -1;
  return direction;
}

// Returns the type of [batch, height', width', channels] after a window of `window` slid over the image; of a volume
// with depth' before height' for a window of three sizes.
std::vector<Type> Windowed(const Node& node, const Type& image, std::span<const int64_t> window, int64_t channels) {
  if (!image.shape || image.shape->size() != window.size() + 2) return {};
  const char* const format = window.size() == 3 ? "NDHWC" : "NHWC";
  if (node.attributes.Text("data_format", format) != format) return {};
  const std::string padding = node.attributes.Text("padding", "");
  Shape shape = *image.shape;
  for (size_t axis = 1; axis <= window.size(); ++axis) {
    const Direction d = DirectionOf(node, axis);
    int64_t size = -1;
    if (shape[axis] < 0 || d.padded < 0 || __builtin_add_overflow(shape[axis], d.padded, &size)) size = -1;
    shape[axis] = WindowPositions(size, window[axis - 1], d.stride, d.dilation, padding);
  }
  shape.back() = channels;
  return One(image.type, std::move(shape));
}

std::vector<Type> Convolution(const Node& node, std::span<const Type> inputs) {
  const size_t rank = node.op == "Conv3D" ? 5 : 4;
  if (inputs.size() < 2 || !inputs[1].shape || inputs[1].shape->size() != rank) return {};
  const Shape& filter = *inputs[1].shape;
  const bool by_depth = node.op == "DepthwiseConv2dNative";
  const bool known = filter[rank - 2] >= 0 && filter[rank - 1] >= 0;
  int64_t channels = filter[rank - 1];
  if (by_depth && (!known || __builtin_mul_overflow(filter[2], filter[3], &channels))) channels = -1;
  return Windowed(node, inputs[0], std::span(filter).first(rank - 2), channels);
}

// The first input holds the shape of the result, or only its height and width.
std::vector<Type> TransposedConvolution(const Node& node, std::span<const Type> inputs) {
  if (inputs.size() < 3) return {};
  const size_t rank = node.op == "Conv3DBackpropInputV2" ? 5 : 4;
  const DType type = inputs[2].type;
  const auto sizes = IntsIn(inputs[0]);
  const bool is_whole = sizes && std::ranges::none_of(*sizes, [](int64_t size) { return size < 0; });
  if (!is_whole || inputs[0].value->rank() != 1) return {{type, std::nullopt, std::nullopt}};
  if (sizes->size() == rank) return One(type, *sizes);
  const auto& filter = inputs[1].shape;
  const auto& places = inputs[2].shape;
  if (sizes->size() != rank - 2 || !filter || filter->size() != rank || !places || places->size() != rank)
    return {{type, std::nullopt, std::nullopt}};
  Shape shape = {places->front()};
  shape.insert(shape.end(), sizes->begin(), sizes->end());
  shape.push_back((*filter)[rank - 2]);
  return One(type, std::move(shape));
}

std::vector<Type> Pooling(const Node& node, std::span<const Type> inputs) {
  const auto window = node.attributes.Ints("ksize");
  const size_t rank = node.op.ends_with("3D") ? 5 : 4;
  if (inputs.empty() || window.size() != rank || window.front() != 1 || window.back() != 1) return {};
  if (!inputs[0].shape || inputs[0].shape->size() != rank) return {};
  return Windowed(node, inputs[0], std::span(window).subspan(1, rank - 2), inputs[0].shape->back());
}

std::vector<Type> PoolingWithIndices(const Node& node, std::span<const Type> inputs) {
  std::vector<Type> types = Pooling(node, inputs);
  if (!types.empty()) types.push_back({node.attributes.Type("Targmax", DType::kInt64), types[0].shape, std::nullopt});
  return types;
}

// All outputs of a recurrent cell have the type of its state.
std::vector<Type> LikeState(const Type& state, int outputs) {
  return std::vector<Type>(static_cast<size_t>(outputs), {state.type, state.shape, std::nullopt});
}

std::vector<Type> LstmCell(const Node&, std::span<const Type> inputs) {
  return inputs.size() < 2 ? std::vector<Type>() : LikeState(inputs[1], 7);
}

std::vector<Type> GruCell(const Node&, std::span<const Type> inputs) {
  return inputs.size() < 2 ? std::vector<Type>() : LikeState(inputs[1], 4);
}

// Each output has one value for each time step: its first axis is the time, the others are those of the state.
std::vector<Type> LstmSequence(const Node&, std::span<const Type> inputs) {
  if (inputs.size() < 3 || !inputs[1].shape || inputs[1].shape->empty() || !inputs[2].shape) return {};
  Shape shape = *inputs[2].shape;
  shape.insert(shape.begin(), inputs[1].shape->front());
  return LikeState({inputs[1].type, std::move(shape), std::nullopt}, 7);
}

// Infers the type from an equation such as "abc,cd->abd". The type is unknown if ParseEinsum cannot read the equation.
std::vector<Type> EinsteinSum(const Node& node, std::span<const Type> inputs) {
  const auto labels = ParseEinsum(node.attributes.Text("equation", ""));
  if (!labels || labels->operands.size() != inputs.size()) return {};
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].shape || inputs[i].shape->size() != labels->operands[i].size()) return {};
    for (size_t axis = 0; axis < inputs[i].shape->size(); ++axis) {
      const int64_t size = (*inputs[i].shape)[axis];
      int64_t& known = sizes.try_emplace(labels->operands[i][axis], size).first->second;
      known = std::max(known, size);
    }
  }
  Shape shape;
  for (const char label : labels->result) {
    if (!sizes.contains(label)) return {};
    shape.push_back(sizes[label]);
  }
  return One(inputs[0].type, std::move(shape));
}

int64_t Elements(const Shape& shape) { return tensor::ElementCount(shape).value_or(0); }

// Returns nullopt if the product is zero or does not fit into 64 bits.
std::optional<int64_t> Product(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  }
  return product > 0 ? std::optional(product) : std::nullopt;
}

// A product of [m, k] and [k, n] has 2 m n k operations. k is the number of elements of the first matrix, transposed or
// not, divided by the number of rows of the output.
std::optional<int64_t> MatMulFlops(const Node&, const std::vector<Shape>& inputs, const Shape& output) {
  if (inputs.size() < 2 || inputs[0].size() < 2 || output.size() < 2) return std::nullopt;
  const Shape& a = inputs[0];
  const int64_t inner = Product({a[a.size() - 1], a[a.size() - 2]}).value_or(0) / output[output.size() - 2];
  return Product({2, Elements(output), inner});
}

// Each element of `sums` is a sum over the window and the input channels, that is over all dimensions of the filter but
// the last.
std::optional<int64_t> FilterFlops(const Shape& filter, const Shape& sums) {
  if (filter.empty() || filter.back() == 0) return std::nullopt;
  return Product({2, Elements(sums), Elements(filter) / filter.back()});
}

std::optional<int64_t> ConvolutionFlops(const Node&, const std::vector<Shape>& inputs, const Shape& output) {
  return inputs.size() < 2 ? std::nullopt : FilterFlops(inputs[1], output);
}

std::optional<int64_t> DepthwiseFlops(const Node&, const std::vector<Shape>& inputs, const Shape& output) {
  if (inputs.size() < 2 || inputs[1].size() < 2) return std::nullopt;
  return Product({2, Elements(output), inputs[1][0], inputs[1][1]});
}

// A transposed convolution multiplies every input element with one weight for each window position and output channel.
std::optional<int64_t> TransposedFlops(const Node&, const std::vector<Shape>& inputs, const Shape&) {
  return inputs.size() < 3 ? std::nullopt : FilterFlops(inputs[1], inputs[2]);
}

// Returns twice the product of the sizes of all labels; nullopt if there is only one operand, which is not multiplied
// with anything, or if ParseEinsum cannot read the equation.
std::optional<int64_t> EinsumFlops(const Node& node, const std::vector<Shape>& inputs, const Shape&) {
  const auto labels = ParseEinsum(node.attributes.Text("equation", ""));
  if (!labels || inputs.size() < 2 || labels->operands.size() != inputs.size()) return std::nullopt;
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].size() != labels->operands[i].size()) return std::nullopt;
    for (size_t axis = 0; axis < inputs[i].size(); ++axis) sizes[labels->operands[i][axis]] = inputs[i][axis];
  }
  std::optional<int64_t> flops = 2;
  for (const auto& [_, size] : sizes) flops = Product({flops.value_or(0), size});
  return flops;
}

// Each row of [x, h_prev] is multiplied with the weights of shape [inputs + cells, gates]. Steps after the end of a
// sequence count too, because its length is not part of a shape. Element-wise work of the cells is not counted.
std::optional<int64_t> CellFlops(const Shape& x, const Shape& weights) {
  if (x.empty()) return std::nullopt;
  return Product({2, Elements(Shape(x.begin(), x.end() - 1)), Elements(weights)});
}

std::optional<int64_t> LstmCellFlops(const Node&, const std::vector<Shape>& inputs, const Shape&) {
  return inputs.size() < 4 ? std::nullopt : CellFlops(inputs[0], inputs[3]);
}

std::optional<int64_t> LstmSequenceFlops(const Node&, const std::vector<Shape>& inputs, const Shape&) {
  return inputs.size() < 5 ? std::nullopt : CellFlops(inputs[1], inputs[4]);
}

// A GRU cell has two products: one for the gates, with h_prev, and one for the candidate, with the gated h_prev.
std::optional<int64_t> GruCellFlops(const Node&, const std::vector<Shape>& inputs, const Shape&) {
  if (inputs.size() < 4) return std::nullopt;
  const auto gates = CellFlops(inputs[0], inputs[2]), candidate = CellFlops(inputs[0], inputs[3]);
  int64_t both = 0;
  if (__builtin_add_overflow(gates.value_or(0), candidate.value_or(0), &both) || both == 0) return std::nullopt;
  return both;
}

constexpr Fusing kProduct{.part = ProductPart::kProduct};

constexpr Op kOps[] = {
    {.name = "AvgPool", .type = Pooling, .rows = ByRowOfFirst},
    {.name = "AvgPool3D", .type = Pooling},
    {.name = "BatchMatMul",
     .type = MatrixProduct,
     .rows = ByRowOfMatrices,
     .flops = MatMulFlops,
     .weight_input = 1,
     .fusing = kProduct},
    {.name = "BatchMatMulV2",
     .type = MatrixProduct,
     .rows = ByRowOfMatrices,
     .flops = MatMulFlops,
     .weight_input = 1,
     .fusing = kProduct},
    {.name = "BatchMatMulV3", .type = MatrixProduct, .rows = ByRowOfMatrices, .flops = MatMulFlops, .weight_input = 1},
    {.name = "BlockLSTM", .type = LstmSequence, .flops = LstmSequenceFlops},
    {.name = "BlockLSTMV2", .type = LstmSequence, .flops = LstmSequenceFlops},
    {.name = "Conv2D",
     .type = Convolution,
     .rows = ByRowOfFirst,
     .flops = ConvolutionFlops,
     .weight_input = 1,
     .fusing = kProduct,
     .may_absorb_scale = true,
     .may_absorb_pad = true},
    {.name = "Conv2DBackpropInput", .type = TransposedConvolution, .flops = TransposedFlops},
    {.name = "Conv3D", .type = Convolution, .flops = ConvolutionFlops},
    {.name = "Conv3DBackpropInputV2", .type = TransposedConvolution, .flops = TransposedFlops},
    {.name = "DepthwiseConv2dNative",
     .type = Convolution,
     .rows = ByRowOfFirst,
     .flops = DepthwiseFlops,
     .weight_input = 1,
     .fusing = kProduct,
     .may_absorb_scale = true,
     .may_absorb_pad = true},
    {.name = "DepthwiseConv2dNativeBackpropInput", .type = TransposedConvolution},
    {.name = "Einsum", .type = EinsteinSum, .rows = ByRowOfEinsum, .flops = EinsumFlops, .weight_input = 1},
    {.name = "GRUBlockCell", .type = GruCell, .flops = GruCellFlops},
    {.name = "LSTMBlockCell", .type = LstmCell, .flops = LstmCellFlops},
    {.name = "MatMul",
     .type = MatrixProduct,
     .rows = ByRowOfMatMul,
     .flops = MatMulFlops,
     .weight_input = 1,
     .fusing = kProduct,
     .may_absorb_scale = true},
    {.name = "MaxPool", .type = Pooling, .rows = ByRowOfFirst},
    {.name = "MaxPool3D", .type = Pooling},
    {.name = "MaxPoolWithArgmax", .type = PoolingWithIndices},
};

}  // namespace

std::span<const Op> ProductOps() { return kOps; }

}  // namespace longshore::graph
