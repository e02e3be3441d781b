// Steps that run a oneDNN primitive, which is made once and executed on the memory of a frame.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serving-node/engine/cpu/steps/step.h"
#include "serving-node/engine/cpu/steps/weights.h"

namespace longshore::engine::cpu {

// An argument of a primitive, and the value that is passed for it.
struct Binding {
  int argument = 0;  // Such as DNNL_ARG_SRC.
  dnnl::memory::desc layout;
  ValueId value = 0;
  Weights::Form fixed = nullptr;  // If set, a constant in this layout, used instead of `value`.
};

// Binds a value to an argument. A constant is bound in the layout `layout`, to which it is converted from its own
// layout `plain` if needed.
Binding Bind(const StepContext& context, int argument, const Value& value, const dnnl::memory::desc& plain,
             const dnnl::memory::desc& layout);

// A primitive with its arguments. Requires: the primitive has scratchpad_mode::user.
class OneDnnStep final : public Step {
 public:
  OneDnnStep(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad, std::string how,
             std::vector<Binding> bindings);
  Status Run(Frame& frame) const override;
  size_t scratch_bytes() const override { return scratchpad_.get_size(); }
  std::unique_ptr<StepState> MakeState() const override;
  std::string how() const override { return how_; }

 private:
  struct State;
  dnnl::primitive primitive_;
  dnnl::memory::desc scratchpad_;
  std::string how_;
  std::vector<Binding> bindings_;
};

template <typename Descriptor>
StepPtr MakeOneDnnStep(const Descriptor& descriptor, std::vector<Binding> bindings) {
  return std::make_unique<OneDnnStep>(dnnl::primitive(descriptor), descriptor.scratchpad_desc(),
                                      std::string("onednn ") + descriptor.impl_info_str(), std::move(bindings));
}

// The layout of a dense float tensor. `order` lists the dimensions from the slowest to the fastest: "nhwc" is
// {0, 2, 3, 1}.
dnnl::memory::desc Dense(const dnnl::memory::dims& sizes, const std::vector<size_t>& order);

// The ops fused into the node, as oneDNN post-operations. MakePostOps returns nullopt if a primitive cannot do one of
// them. A bias that comes first is returned in `bias`, for the primitive's own bias argument; `operands` binds the
// other operands. An operand of rank 1 has one number for each index of `channels`, which is a dimension of the result
// in oneDNN's order.
struct PostOps {
  dnnl::primitive_attr attributes;
  std::optional<Value> bias;
  std::vector<Binding> operands;
};
std::optional<PostOps> MakePostOps(const StepContext& context, const dnnl::memory::desc& result, size_t channels);

// Whether oneDNN can apply the op to the results of a product.
bool HasActivation(std::string_view op);

}  // namespace longshore::engine::cpu
