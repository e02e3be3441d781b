// MatMul and BatchMatMul by oneDNN; constant weights are packed.
#include <algorithm>
#include <functional>
#include <numeric>

#include "serving-node/engine/cpu/steps/onednn.h"

namespace longshore::engine::cpu {
namespace {

using dnnl::memory;

bool IsSupported(const StepContext& context) {
  if (context.inputs.size() < 2 || !context.outputs[0].is_static() || context.outputs[0].elements() == 0) return false;
  const auto is_supported = [](const Value& input) {
    return input.is_static() && input.type.type == DType::kFloat && input.elements() > 0;
  };
  if (!std::ranges::all_of(context.inputs, is_supported)) return false;
  const size_t rank_a = context.inputs[0].shape().size(), rank_b = context.inputs[1].shape().size();
  return std::min(rank_a, rank_b) >= 2 && std::max(rank_a, rank_b) <= 6;
}

// The shapes of a, b and the result as oneDNN gets them: it needs equal ranks.
struct Shapes {
  Shape a, b, result;
};

// Adds axes of size 1 in front until the shape has this rank.
Shape OfRank(Shape shape, size_t rank) {
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return shape;
}

// Views a batch of matrices as one matrix with all their rows. Valid if all of them are multiplied by the same matrix.
Shape AsRows(const Shape& shape) {
  return {std::accumulate(shape.begin(), shape.end() - 1, int64_t{1}, std::multiplies<>()), shape.back()};
}

Shapes ShapesOf(const StepContext& context, bool turn_a) {
  const Shape& a = context.inputs[0].shape();
  const Shape& b = context.inputs[1].shape();
  const Shape& result = context.outputs[0].shape();
  if (b.size() == 2 && !turn_a) return {AsRows(a), b, AsRows(result)};
  return {OfRank(a, result.size()), OfRank(b, result.size()), result};
}

// The layout of a matrix or a batch of matrices, transposed if `turned`.
memory::desc Matrix(const Shape& shape, bool turned) {
  const size_t rank = shape.size();
  memory::dims sizes(shape.begin(), shape.end());
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), size_t{0});
  if (turned) {
    std::swap(sizes[rank - 1], sizes[rank - 2]);
    std::swap(order[rank - 1], order[rank - 2]);
  }
  return Dense(sizes, order);
}

memory::desc BiasOf(const Shape& result) {
  Shape sizes(result.size(), 1);
  sizes.back() = result.back();
  return Matrix(sizes, false);
}

}  // namespace

StepPtr MakeProduct(const StepContext& context) {
  if (!IsSupported(context)) return nullptr;
  const auto& attributes = context.node.attributes;
  const bool turn_a = attributes.Bool("transpose_a", false) || attributes.Bool("adj_x", false);
  const bool turn_b = attributes.Bool("transpose_b", false) || attributes.Bool("adj_y", false);
  const Value& b = context.inputs[1];
  const Shapes shapes = ShapesOf(context, turn_a);
  const memory::desc left = Matrix(shapes.a, turn_a), right = Matrix(shapes.b, turn_b);
  const memory::desc to = Matrix(shapes.result, false);
  const auto post = MakePostOps(context, to, shapes.result.size() - 1);
  if (!post) return nullptr;
  const memory::desc bias = BiasOf(shapes.result);
  const memory::desc any(right.get_dims(), memory::data_type::f32, memory::format_tag::any);
  const dnnl::matmul::primitive_desc descriptor(OneDnnEngine(), left, b.is_const() ? any : right,
                                                post->bias ? bias : memory::desc(), to, post->attributes);
  std::vector<Binding> bindings = post->operands;
  bindings.push_back({DNNL_ARG_SRC, left, context.inputs[0].id});
  bindings.push_back(Bind(context, DNNL_ARG_WEIGHTS, b, right, descriptor.weights_desc()));
  bindings.push_back({DNNL_ARG_DST, to, context.outputs[0].id});
  if (post->bias) bindings.push_back({DNNL_ARG_BIAS, bias, post->bias->id});
  return MakeOneDnnStep(descriptor, std::move(bindings));
}

}  // namespace longshore::engine::cpu
