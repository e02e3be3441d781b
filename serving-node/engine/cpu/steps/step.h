// A step of a program runs one node of the graph. It is prepared for known shapes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "serving-node/engine/kernels/base/kernel.h"
#include "serving-node/graph/graph.h"
#include "serving-node/graph/types.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::cpu {

using kernels::Resources;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

// Numbers the values of a program. A value is an output of a node, a constant, or a fed tensor.
using ValueId = size_t;

// Data of a step that only one run at a time may use, such as views of the frame's memory.
class StepState {
 public:
  virtual ~StepState() = default;
};

// The state that a run shares with the runs of its bodies.
struct RunContext {
  Resources* resources = nullptr;
  kernels::RunTables* tables = nullptr;
  kernels::Bodies* bodies = nullptr;
  bool is_body = false;  // Whether this is the run of a body, within a step of another run.
};

// The memory of one run. `data` has the addresses of the constants, of the fed tensors, of the values in the arena,
// whose sizes are known before the run, and of the run's outputs of known size; an output that a kernel makes has its
// address only after the step. Other values, such as computed strings, are tensors that the run allocates.
struct Frame {
  std::vector<std::byte*> data;                    // The address of each value; nullptr if the step must allocate it.
  std::vector<Tensor> made;                        // Indexed by value: fed tensors, and those that the run allocated.
  std::byte* scratch = nullptr;                    // Scratch memory of the current step: scratch_bytes() bytes.
  std::vector<std::unique_ptr<StepState>> states;  // The state of each step.
  StepState* state = nullptr;                      // The state of the current step.
  RunContext context;
  size_t room_bytes = 0;  // The bytes that the run may still allocate.

  template <typename T>
  T* As(ValueId value) const {
    return reinterpret_cast<T*>(data[value]);
  }
};

class Step {
 public:
  virtual ~Step() = default;

  // Computes the outputs. Only one thread at a time may call it for one frame.
  virtual Status Run(Frame& frame) const = 0;

  virtual size_t scratch_bytes() const { return 0; }
  virtual std::unique_ptr<StepState> MakeState() const { return nullptr; }
  // The implementation, for PlanStep::how, such as "onednn brgconv:avx512_core", "loops" or "kernel".
  virtual std::string how() const = 0;
};
using StepPtr = std::unique_ptr<Step>;

// A value of the program, with what is known about it when the steps are made.
struct Value {
  graph::Type type;
  ValueId id = 0;

  bool is_static() const { return type.is_static(); }
  bool is_const() const { return type.value.has_value(); }
  const Shape& shape() const { return *type.shape; }
  int64_t elements() const { return tensor::ElementCount(*type.shape).value_or(0); }
};

class Weights;

struct StepContext {
  const graph::Node& node;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  Weights& weights;

  // How many inputs are operands of fused ops. These are the last inputs.
  size_t fused_operands() const;
};

// Makes a step for the node. Returns nullptr if the step does not support the types, layout or shapes of the node.
using MakeStep = StepPtr (*)(const StepContext& context);

// Returns the function that makes the fast step for an op; nullptr for most ops, which have no fast step.
MakeStep FindFastStep(std::string_view op);

// Whether the op is a sum over many elements, such as a product, a convolution or a softmax: its fast step is many
// times as fast as its kernel.
bool IsSum(std::string_view op);

// A step that runs the op's reference kernel and then those of the fused ops. Never returns nullptr.
StepPtr MakeKernelStep(const StepContext& context);

// The fast steps, each family in its own file. fast_steps.cc maps ops to these functions.
StepPtr MakeConvolution(const StepContext& context);
StepPtr MakeProduct(const StepContext& context);
StepPtr MakeEinsum(const StepContext& context);
StepPtr MakePooling(const StepContext& context);
StepPtr MakeElementwise(const StepContext& context);
StepPtr MakeSelect(const StepContext& context);
StepPtr MakeSoftmax(const StepContext& context);
StepPtr MakeAttention(const StepContext& context);
StepPtr MakeLayerNorm(const StepContext& context);
StepPtr MakeReduction(const StepContext& context);
StepPtr MakePad(const StepContext& context);
StepPtr MakeConcat(const StepContext& context);
StepPtr MakeSplit(const StepContext& context);

}  // namespace longshore::engine::cpu
