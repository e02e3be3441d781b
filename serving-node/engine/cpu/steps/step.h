// A step of a run: one node of the graph, with everything decided that its shapes decide.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "serving-node/engine/reference/kernels/kernel.h"
#include "serving-node/graph/graph.h"
#include "serving-node/graph/types.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::cpu {

using reference::kernels::Resources;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

// A value of the program: an output of a node, a constant, or what is fed.
using ValueId = size_t;

// What a step keeps for one run at a time, such as views of the frame's memory.
class StepState {
 public:
  virtual ~StepState() = default;
};

// What a run shares with those of the bodies of its loops and branches.
struct RunContext {
  Resources* resources = nullptr;
  reference::kernels::RunTables* tables = nullptr;
  reference::kernels::Bodies* bodies = nullptr;
  bool is_body = false;  // What runs is within a step of another run.
};

// The memory of one run. Values of static shape lie in the arena, in constants, or in what was fed; `data` says where.
// Others are tensors that the run makes.
struct Frame {
  std::vector<std::byte*> data;                    // By value; nullptr for what the run makes.
  std::vector<Tensor> made;                        // By value; empty for what lies in `data`.
  std::byte* scratch = nullptr;                    // For the step that runs, as many bytes as it asked for.
  std::vector<std::unique_ptr<StepState>> states;  // By step.
  StepState* state = nullptr;                      // Of the step that runs.
  RunContext context;
  size_t room_bytes = 0;  // What is left of the run's memory.

  template <typename T>
  T* As(ValueId value) const {
    return reinterpret_cast<T*>(data[value]);
  }
};

class Step {
 public:
  virtual ~Step() = default;

  // Called by one thread at a time for each frame.
  virtual Status Run(Frame& frame) const = 0;

  virtual size_t scratch_bytes() const { return 0; }
  virtual std::unique_ptr<StepState> MakeState() const { return nullptr; }
  // How it computes: "onednn brgconv:avx512_core", "loops", "kernel".
  virtual std::string how() const = 0;
};
using StepPtr = std::unique_ptr<Step>;

// What is known of a value when steps are made.
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

  // How many of the inputs are operands of what was drawn in; they come last.
  size_t operands_drawn_in() const;
};

// Makes a step of the node, or nullptr when it is none of its own: another type, layout or shape.
using MakeStep = StepPtr (*)(const StepContext& context);

// The fast steps there are for an op, best first; none for most.
std::span<const MakeStep> FastSteps(std::string_view op);

// The op's reference kernel, and then what a pass has drawn into the node. Takes everything.
StepPtr MakeKernelStep(const StepContext& context);

// The families, each in its own file.
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
