// MatMul and BatchMatMul by oneDNN; constant weights are packed.
#include "serving-node/engine/cpu/steps/onednn.h"

namespace longshore::engine::cpu {
namespace {

using dnnl::memory;

bool IsOurs(const StepContext& context) {
  if (context.inputs.size() < 2 || !context.outputs[0].is_static()) return false;
  for (const Value& input : context.inputs) {
    if (!input.is_static() || input.type.type != DType::kFloat || input.elements() == 0) return false;
  }
  const size_t rank = context.inputs[0].shape().size();
  return rank >= 2 && rank <= 6 && context.inputs[1].shape().size() == rank && context.outputs[0].elements() > 0;
}

// A matrix, or a batch of them, turned over or not.
memory::desc Matrix(const Shape& shape, bool turned) {
  const size_t rank = shape.size();
  memory::dims sizes(shape.begin(), shape.end());
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = i;
  if (turned) {
    std::swap(sizes[rank - 1], sizes[rank - 2]);
    std::swap(order[rank - 1], order[rank - 2]);
  }
  return Dense(sizes, order);
}

}  // namespace

StepPtr MakeProduct(const StepContext& context) {
  if (!IsOurs(context)) return nullptr;
  const auto& attributes = context.node.attributes;
  const bool turn_a = attributes.Bool("transpose_a", false) || attributes.Bool("adj_x", false);
  const bool turn_b = attributes.Bool("transpose_b", false) || attributes.Bool("adj_y", false);
  const Value& a = context.inputs[0];
  const Value& b = context.inputs[1];
  const Value& result = context.outputs[0];
  const memory::desc left = Matrix(a.shape(), turn_a), right = Matrix(b.shape(), turn_b);
  const memory::desc to = Matrix(result.shape(), false);
  const auto post = MakePostOps(context, to);
  if (!post) return nullptr;
  memory::dims bias_sizes(result.shape().size(), 1);
  bias_sizes.back() = result.shape().back();
  std::vector<size_t> order(bias_sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const memory::desc bias = Dense(bias_sizes, order);
  const memory::desc any(right.get_dims(), memory::data_type::f32, memory::format_tag::any);
  const dnnl::matmul::primitive_desc descriptor(OneDnnEngine(), left, b.is_const() ? any : right,
                                                post->bias ? bias : memory::desc(), to, post->attributes);
  std::vector<Binding> bindings = post->operands;
  bindings.push_back({DNNL_ARG_SRC, left, a.id, std::nullopt});
  Binding weights{DNNL_ARG_WEIGHTS, right, b.id, std::nullopt};
  if (b.is_const()) weights.fixed = context.packed.Pack(*b.type.value, right, descriptor.weights_desc());
  bindings.push_back(std::move(weights));
  bindings.push_back({DNNL_ARG_DST, to, result.id, std::nullopt});
  if (post->bias) bindings.push_back({DNNL_ARG_BIAS, bias, post->bias->id, std::nullopt});
  return MakeOneDnnStep(descriptor, std::move(bindings));
}

}  // namespace longshore::engine::cpu
