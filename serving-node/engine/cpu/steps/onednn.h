// oneDNN as the steps use it: primitives that are made once, and run on the memory of a frame.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <vector>

#include "serving-node/engine/cpu/steps/step.h"
#include "serving-node/engine/cpu/steps/weights.h"

namespace longshore::engine::cpu {

// What a primitive reads or writes.
struct Binding {
  int argument = 0;  // DNNL_ARG_SRC.
  dnnl::memory::desc layout;
  ValueId value = 0;
  Weights::Form fixed = nullptr;  // Instead of a value.
};

// The value, or what it is held as in the layout where it is constant, which lies as `plain` says.
Binding Bind(const StepContext& context, int argument, const Value& value, const dnnl::memory::desc& plain,
             const dnnl::memory::desc& layout);

// A primitive with its arguments. Requires: made with a scratchpad of the user's.
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

// Of a dense tensor of floats; `order` is of the dimensions from the slowest to the quickest: "nhwc" is {0, 2, 3, 1}.
dnnl::memory::desc Dense(const dnnl::memory::dims& sizes, const std::vector<size_t>& order);

// What a pass has drawn into the node as post-operations, with the operands beside the bias bound; nullopt when there
// is one that a primitive cannot do. A bias that comes first is left to the primitive. An operand of one axis has a
// number for each place on `channels`, an axis of the result as oneDNN counts them.
struct PostOps {
  dnnl::primitive_attr attributes;
  std::optional<Value> bias;
  std::vector<Binding> operands;
};
std::optional<PostOps> MakePostOps(const StepContext& context, const dnnl::memory::desc& result, size_t channels);

}  // namespace longshore::engine::cpu
