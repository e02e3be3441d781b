#include "serving-node/engine/reference/flops.h"

#include <map>
#include <set>

namespace longshore::engine::reference {
namespace {

using tensor::Shape;

int64_t Elements(const Shape& shape) { return tensor::ElementCount(shape).value_or(0); }

// Whichever of the operands is transposed: the first has as many elements as rows of the output times the inner size.
int64_t OfMatMul(const Shape& a, const Shape& output) {
  if (a.size() < 2 || output.size() < 2 || output[output.size() - 2] == 0) return 0;
  const int64_t inner = a[a.size() - 1] * a[a.size() - 2] / output[output.size() - 2];
  return 2 * Elements(output) * inner;
}

// Each output is a sum over the window and the channels that come in: over a filter without its last dimension.
int64_t OfConvolution(const Shape& filter, const Shape& output) {
  return filter.empty() || filter.back() == 0 ? 0 : 2 * Elements(output) * (Elements(filter) / filter.back());
}

int64_t OfDepthwise(const Shape& filter, const Shape& output) {
  return filter.size() < 2 ? 0 : 2 * Elements(output) * filter[0] * filter[1];
}

// Backwards every input is spread over the window and the channels that go out.
int64_t OfTransposed(const Shape& filter, const Shape& input) { return OfConvolution(filter, input); }

// The product of all labels' sizes. An ellipsis stands for what they leave over.
int64_t OfEinsum(const graph::Node& node, const std::vector<Shape>& inputs) {
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

// Of each row of x with its row of h_prev the product with all columns of the weights [inputs + cells, gates].
// Steps beyond the length of a sequence count too: it is no shape. What is then done to each cell does not count.
int64_t OfCells(const Shape& x, const Shape& weights) {
  if (x.empty()) return 0;
  return 2 * Elements(Shape(x.begin(), x.end() - 1)) * Elements(weights);
}

int64_t OfRecurrent(const std::string& op, const std::vector<Shape>& inputs) {
  if (op == "LSTMBlockCell" && inputs.size() > 3) return OfCells(inputs[0], inputs[3]);
  if (op.starts_with("BlockLSTM") && inputs.size() > 4) return OfCells(inputs[1], inputs[4]);
  // The gates see h_prev, the candidate what they leave of it.
  if (op == "GRUBlockCell" && inputs.size() > 3) return OfCells(inputs[0], inputs[2]) + OfCells(inputs[0], inputs[3]);
  return 0;
}

int64_t OfProduct(const graph::Node& node, const std::vector<Shape>& inputs, const Shape& output) {
  if (node.op == "Conv2D" || node.op == "Conv3D") return OfConvolution(inputs[1], output);
  if (node.op == "DepthwiseConv2dNative") return OfDepthwise(inputs[1], output);
  if (node.op == "MatMul" || node.op.starts_with("BatchMatMul")) return OfMatMul(inputs[0], output);
  if (node.op == "Conv2DBackpropInput" && inputs.size() > 2) return OfTransposed(inputs[1], inputs[2]);
  return node.op == "Einsum" ? OfEinsum(node, inputs) : OfRecurrent(node.op, inputs);
}

}  // namespace

int64_t Flops(const graph::Node& node, const std::vector<Shape>& inputs, const std::vector<Shape>& outputs) {
  static const std::set<std::string> kMoves = {"Reshape",      "Identity", "Shape",      "Transpose",
                                               "ConcatV2",     "Squeeze",  "ExpandDims", "Pack",
                                               "StridedSlice", "GatherV2", "Pad",        "PadV2"};
  if (outputs.empty() || kMoves.contains(node.op)) return 0;
  const int64_t product = inputs.size() < 2 ? 0 : OfProduct(node, inputs, outputs[0]);
  return product > 0 ? product : Elements(outputs[0]);
}

}  // namespace longshore::engine::reference
