// Runs a reference kernel: for ops without a fast step, and for values whose shape is known only in the run.
#include <algorithm>
#include <cstring>

#include "serving-node/engine/cpu/steps/loops.h"
#include "serving-node/engine/cpu/steps/step.h"
#include "serving-node/engine/kernels/base/bodies.h"
#include "serving-node/engine/kernels/registry.h"
#include "serving-node/graph/ops.h"

namespace longshore::engine::cpu {
namespace {

class KernelStep final : public Step {
 public:
  explicit KernelStep(const StepContext& context)
      : node_(context.node), inputs_(context.inputs), outputs_(context.outputs) {
    for (graph::Fused& fused : node_.then) then_.push_back(NodeOf(fused));
    own_inputs_ = inputs_.size() - context.fused_operands();
    keeps_inputs_ = node_.has_effect || !std::ranges::all_of(outputs_, HoldsNoTensors);
  }

  Status Run(Frame& frame) const override {
    std::vector<Tensor> inputs;
    for (const Value& input : inputs_) {
      inputs.push_back(TensorAt(frame, input));
      if (inputs.back().empty())
        return DataLoss("op \"{}\" (node \"{}\") reads an output that does not exist", node_.op, node_.name);
    }
    if (keeps_inputs_) {
      for (Tensor& input : inputs) {
        ASSIGN_OR_RETURN(input, Owned(input));
      }
    }
    ASSIGN_OR_RETURN(auto made, Compute(node_, std::span(inputs).first(own_inputs_), frame));
    for (size_t i = 0; i < then_.size(); ++i) {
      if (graph::FindOp(then_[i].op).is_fused) {  // A fused op has no kernel.
        ASSIGN_OR_RETURN(made[0], ByLoop(*FindUnaryLoop(then_[i].op), made[0]));
        continue;
      }
      std::vector<Tensor> operands = {made[0]};
      if (node_.then[i].operand >= 0) operands.push_back(inputs[static_cast<size_t>(node_.then[i].operand)]);
      ASSIGN_OR_RETURN(made, Compute(then_[i], operands, frame));
    }
    return Put(std::move(made), frame);
  }
  std::string how() const override { return "kernel"; }

 private:
  // Whether the output is neither a list nor a variable. A list or variable may keep its tensors longer than the memory
  // of the run exists, so it must get tensors that own their memory.
  static bool HoldsNoTensors(const Value& output) {
    return tensor::ElementBytes(output.type.type) > 0 || output.type.type == DType::kString;
  }

  static Result<Tensor> Owned(const Tensor& tensor) {
    if (tensor.owns() || tensor.empty()) return tensor;
    ASSIGN_OR_RETURN(Tensor copy, Tensor::Make(tensor.type(), tensor.shape()));
    std::memcpy(copy.mutable_data(), tensor.data(), tensor.bytes());
    return copy;
  }

  static graph::Node NodeOf(const graph::Fused& fused) {
    graph::Node node{.name = fused.name, .op = fused.op};
    tensorflow::AttrValue alpha;
    alpha.set_f(fused.alpha);
    node.attributes.Set("alpha", alpha);
    return node;
  }

  static Result<std::vector<Tensor>> Compute(const graph::Node& node, std::span<const Tensor> inputs, Frame& frame) {
    const RunContext& context = frame.context;
    const kernels::Call call{node, inputs, *context.resources, frame.room_bytes, context.tables, context.bodies};
    auto made = kernels::RunKernel(*kernels::FindKernel(node.op), call);
    if (!made) return kernels::AtNode(made.error(), node, context.bodies);
    return made;
  }

  static Result<Tensor> ByLoop(UnaryLoop loop, const Tensor& of) {
    ASSIGN_OR_RETURN(Tensor made, Tensor::Make(DType::kFloat, of.shape()));
    loop(of.values<float>().data(), made.mutable_values<float>().data(), made.elements());
    return made;
  }

  static Tensor TensorAt(const Frame& frame, const Value& value) {
    if (value.type.value) return *value.type.value;
    if (!frame.made[value.id].empty()) return frame.made[value.id];  // The run allocated it, or it was fed.
    if (frame.data[value.id] == nullptr) return {};                  // The node does not have this output.
    return Tensor::Wrap(value.type.type, value.shape(), frame.data[value.id], nullptr);
  }

  Status Put(std::vector<Tensor> made, Frame& frame) const {
    if (made.empty()) return {};  // The op has an effect and no outputs.
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (i >= made.size()) return DataLoss("op \"{}\" (node \"{}\") has no output {}", node_.op, node_.name, i);
      const Value& output = outputs_[i];
      const bool has_fixed_size = output.is_static() && tensor::ElementBytes(output.type.type) > 0;
      if (has_fixed_size && (made[i].shape() != output.shape() || made[i].type() != output.type.type)) {
        return Internal("op \"{}\" (node \"{}\") made a tensor {}{} instead of the inferred {}{}", node_.op, node_.name,
                        DTypeName(made[i].type()), tensor::ToString(made[i].shape()), DTypeName(output.type.type),
                        tensor::ToString(output.shape()));
      }
      if (frame.data[output.id] == nullptr) {
        ASSIGN_OR_RETURN(frame.made[output.id], Owned(made[i]));
        // The run has reserved the memory of values of fixed size before its first step.
        if (!has_fixed_size)
          frame.room_bytes -= std::min(frame.room_bytes, kernels::HeldBytes({&frame.made[output.id], 1}));
        continue;
      }
      std::memcpy(frame.data[output.id], made[i].data(), made[i].bytes());
    }
    return {};
  }

  graph::Node node_;
  std::vector<graph::Node> then_;
  std::vector<Value> inputs_, outputs_;
  size_t own_inputs_ = 0;
  bool keeps_inputs_ = false;
};

}  // namespace

StepPtr MakeKernelStep(const StepContext& context) { return std::make_unique<KernelStep>(context); }

}  // namespace longshore::engine::cpu
