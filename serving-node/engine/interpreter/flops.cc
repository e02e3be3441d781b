#include "serving-node/engine/interpreter/flops.h"

#include <initializer_list>
#include <map>
#include <set>

namespace longshore::engine::interpreter {
namespace {

using tensor::Shape;

int64_t Elements(const Shape& shape) { return tensor::ElementCount(shape).value_or(0); }

// 0, which stands for an unknown number, if the product does not fit into 64 bits.
int64_t Product(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return 0;
  }
  return product;
}

// The inner size is the number of elements of `a` per row of the output, whether or not an operand is transposed.
int64_t MatMulFlops(const Shape& a, const Shape& output) {
  if (a.size() < 2 || output.size() < 2 || output[output.size() - 2] == 0) return 0;
  const int64_t inner = Product({a[a.size() - 1], a[a.size() - 2]}) / output[output.size() - 2];
  return Product({2, Elements(output), inner});
}

// Each output element is a sum over the window and the input channels, that is over all dimensions of the filter but
// the last.
int64_t ConvolutionFlops(const Shape& filter, const Shape& output) {
  if (filter.empty() || filter.back() == 0) return 0;
  return Product({2, Elements(output), Elements(filter) / filter.back()});
}

int64_t DepthwiseFlops(const Shape& filter, const Shape& output) {
  return filter.size() < 2 ? 0 : Product({2, Elements(output), filter[0], filter[1]});
}

// A transposed convolution multiplies every input element with the window and the output channels.
int64_t TransposedFlops(const Shape& filter, const Shape& input) { return ConvolutionFlops(filter, input); }

// Twice the product of the sizes of all labels; 0 for an equation with an ellipsis.
int64_t EinsumFlops(const graph::Node& node, const std::vector<Shape>& inputs) {
  const std::string equation = node.attributes.Text("equation", "");
  std::map<char, int64_t> sizes;
  size_t input = 0, at = 0;
  for (const char c : equation.substr(0, equation.find("->"))) {
    if (c == '.') return 0;
    if (c == ',') {
      ++input;
      at = 0;
    } else if (c != ' ' && input < inputs.size() && at < inputs[input].size()) {
      sizes[c] = inputs[input][at++];
    }
  }
  int64_t flops = 2;
  for (const auto& [_, size] : sizes) {
    if (__builtin_mul_overflow(flops, size, &flops)) return 0;
  }
  return flops;
}

// Each row of [x, h_prev] is multiplied with the weights of shape [inputs + cells, gates]. Steps beyond the length of a
// sequence count too, because shapes do not tell it. Element-wise work of the cells is not counted.
int64_t CellFlops(const Shape& x, const Shape& weights) {
  if (x.empty()) return 0;
  return Product({2, Elements(Shape(x.begin(), x.end() - 1)), Elements(weights)});
}

int64_t RecurrentFlops(const std::string& op, const std::vector<Shape>& inputs) {
  if (op == "LSTMBlockCell" && inputs.size() > 3) return CellFlops(inputs[0], inputs[3]);
  if (op.starts_with("BlockLSTM") && inputs.size() > 4) return CellFlops(inputs[1], inputs[4]);
  // Two products: one for the gates, with h_prev, and one for the candidate, with the gated h_prev.
  int64_t both = 0;
  if (op == "GRUBlockCell" && inputs.size() > 3 &&
      !__builtin_add_overflow(CellFlops(inputs[0], inputs[2]), CellFlops(inputs[0], inputs[3]), &both)) {
    return both;
  }
  return 0;
}

int64_t OfProduct(const graph::Node& node, const std::vector<Shape>& inputs, const Shape& output) {
  if (node.op == "Conv2D" || node.op == "Conv3D") return ConvolutionFlops(inputs[1], output);
  if (node.op == "DepthwiseConv2dNative") return DepthwiseFlops(inputs[1], output);
  if (node.op == "MatMul" || node.op.starts_with("BatchMatMul")) return MatMulFlops(inputs[0], output);
  if (node.op == "Conv2DBackpropInput" && inputs.size() > 2) return TransposedFlops(inputs[1], inputs[2]);
  return node.op == "Einsum" ? EinsumFlops(node, inputs) : RecurrentFlops(node.op, inputs);
}

}  // namespace

int64_t Flops(const graph::Node& node, const std::vector<Shape>& inputs, const std::vector<Shape>& outputs) {
  static const std::set<std::string> kMoves = {"Reshape",      "Identity", "Shape",      "Transpose",
                                               "ConcatV2",     "Squeeze",  "ExpandDims", "Pack",
                                               "StridedSlice", "GatherV2", "Pad",        "PadV2"};
  // The sizes of a tensor without elements may be so large that their product overflows 64 bits.
  if (outputs.empty() || Elements(outputs[0]) == 0 || kMoves.contains(node.op)) return 0;
  const int64_t product = inputs.size() < 2 ? 0 : OfProduct(node, inputs, outputs[0]);
  return product > 0 ? product : Elements(outputs[0]);
}

}  // namespace longshore::engine::interpreter
