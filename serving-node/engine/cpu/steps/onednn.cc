#include "serving-node/engine/cpu/steps/onednn.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "serving-node/graph/ops.h"

namespace longshore::engine::cpu {

using dnnl::memory;

Binding Bind(const StepContext& context, int argument, const Value& value, const memory::desc& plain,
             const memory::desc& layout) {
  if (!value.is_const()) return {argument, layout, value.id};
  return {argument, layout, value.id, context.weights.In(*value.type.value, plain, layout)};
}

struct OneDnnStep::State final : StepState {
  std::vector<memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
};

OneDnnStep::OneDnnStep(dnnl::primitive primitive, const memory::desc& scratchpad, std::string how,
                       std::vector<Binding> bindings)
    : primitive_(std::move(primitive)), scratchpad_(scratchpad), how_(std::move(how)), bindings_(std::move(bindings)) {}

std::unique_ptr<StepState> OneDnnStep::MakeState() const {
  auto state = std::make_unique<State>();
  const auto add = [&](int argument, memory of) {
    state->memories.push_back(std::move(of));
    state->arguments.push_back({argument, state->memories.back().get()});
  };
  for (const Binding& binding : bindings_) {
    add(binding.argument,
        binding.fixed ? memory(*binding.fixed) : memory(binding.layout, OneDnnEngine(), DNNL_MEMORY_NONE));
  }
  add(DNNL_ARG_SCRATCHPAD, memory(scratchpad_, OneDnnEngine(), DNNL_MEMORY_NONE));
  return state;
}

// Sets the addresses each time, because fed tensors are at other addresses in every run.
Status OneDnnStep::Run(Frame& frame) const {
  auto& state = static_cast<State&>(*frame.state);
  for (size_t i = 0; i < bindings_.size(); ++i) {
    if (!bindings_[i].fixed) state.memories[i].set_data_handle(frame.data[bindings_[i].value]);
  }
  state.memories.back().set_data_handle(frame.scratch);
  const auto status = dnnl_primitive_execute(primitive_.get(), OneDnnStream().get(),
                                             static_cast<int>(state.arguments.size()), state.arguments.data());
  if (status != dnnl_success) return Internal("oneDNN's {} failed with status {}", how_, static_cast<int>(status));
  return {};
}

memory::desc Dense(const memory::dims& sizes, const std::vector<size_t>& order) {
  memory::dims strides(sizes.size());
  memory::dim step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= std::max<memory::dim>(sizes[order[i]], 1);
  }
  return {sizes, memory::data_type::f32, strides};
}

namespace {

struct Activation {
  std::string_view op;
  dnnl::algorithm algorithm;
  float alpha = 0;
  float beta = 0;
  bool has_own_alpha = false;  // If true, Fused::alpha is used instead of `alpha`.
};

constexpr Activation kActivations[] = {
    {.op = "Elu", .algorithm = dnnl::algorithm::eltwise_elu, .alpha = 1},
    {.op = "LeakyRelu", .algorithm = dnnl::algorithm::eltwise_relu, .has_own_alpha = true},
    {.op = "Relu", .algorithm = dnnl::algorithm::eltwise_relu},
    {.op = "Relu6", .algorithm = dnnl::algorithm::eltwise_clip, .alpha = 0, .beta = 6},
    {.op = "Sigmoid", .algorithm = dnnl::algorithm::eltwise_logistic},
    {.op = "Silu", .algorithm = dnnl::algorithm::eltwise_swish, .alpha = 1},
    {.op = "Tanh", .algorithm = dnnl::algorithm::eltwise_tanh},
};

// Returns nullptr if oneDNN does not have the op.
const Activation* FindActivation(std::string_view op) {
  const auto found = std::ranges::find(kActivations, op, &Activation::op);
  return found == std::end(kActivations) ? nullptr : found;
}

bool IsSum(const graph::Fused& fused) {
  return fused.operand >= 0 && graph::FindOp(fused.op).fusing.part == graph::ProductPart::kSum;
}

// Returns false if the op is not an activation of oneDNN.
bool AppendActivation(const graph::Fused& fused, dnnl::post_ops* operations) {
  const Activation* found = fused.operand < 0 ? FindActivation(fused.op) : nullptr;
  if (found == nullptr) return false;
  operations->append_eltwise(found->algorithm, found->has_own_alpha ? fused.alpha : found->alpha, found->beta);
  return true;
}

memory::desc PerChannel(const memory::desc& result, size_t axis, memory::dim count) {
  memory::dims sizes(static_cast<size_t>(result.get_ndims()), 1);
  sizes[axis] = count;
  memory::dims strides(sizes.size(), 1);
  for (size_t i = 0; i < axis; ++i) strides[i] = count;
  return {sizes, memory::data_type::f32, strides};
}

}  // namespace

std::optional<PostOps> MakePostOps(const StepContext& context, const memory::desc& result, size_t channels) {
  PostOps made;
  dnnl::post_ops operations;
  for (const graph::Fused& fused : context.node.then) {
    if (!IsSum(fused)) {
      if (!AppendActivation(fused, &operations)) return std::nullopt;
      continue;
    }
    const Value& operand = context.inputs[static_cast<size_t>(fused.operand)];
    const bool per_channel = operand.shape().size() == 1;
    if (per_channel && !made.bias && operations.len() == 0) {
      made.bias = operand;
      continue;
    }
    const auto layout = per_channel ? PerChannel(result, channels, operand.shape()[0]) : result;
    made.operands.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(operations.len()) | DNNL_ARG_SRC_1, layout, operand.id});
    operations.append_binary(dnnl::algorithm::binary_add, layout);
  }
  made.attributes.set_post_ops(operations);
  made.attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return made;
}

bool HasActivation(std::string_view op) { return FindActivation(op) != nullptr; }

}  // namespace longshore::engine::cpu
