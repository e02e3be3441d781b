#include "serving-node/engine/cpu/program.h"

#include <algorithm>

#include "serving-node/engine/cpu/evaluate.h"
#include "serving-node/engine/cpu/steps/arena.h"
#include "serving-node/graph/flops.h"
#include "serving-node/graph/infer_types.h"
#include "serving-node/graph/ops.h"
#include "serving-node/graph/rows.h"

namespace longshore::engine::cpu {

using graph::Edge;
using graph::Graph;
using graph::Type;

// Builds a Program from a graph and its types: decides where each value is stored and which step runs each node.
class ProgramMaker {
 public:
  ProgramMaker(const Graph& graph, const graph::Types& types, Weights& weights)
      : graph_(graph), types_(types), weights_(weights), program_(new Program) {}

  std::unique_ptr<Program> Make() {
    NumberValues();
    AssignStorage();
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (NeedsStep(i)) AddStep(i);
    }
    for (const auto& [name, node] : graph_.fed) program_->fed_[name] = IdOf({node, 0});
    for (const Edge& output : graph_.outputs) program_->outputs_.push_back(IdOf(output));
    StoreOutputs();
    PlaceValues();
    return std::move(program_);
  }

 private:
  // Whether the op leaves the bytes of its first input unchanged and only gives them another shape.
  bool IsAlias(const graph::Node& node) const {
    const graph::Alias alias = graph::FindOp(node.op).alias;
    if (alias == graph::Alias::kIfInOrder) return KeepsOrder(types_.at(node.inputs[0]), types_.at(node.inputs[1]));
    return alias == graph::Alias::kYes;
  }

  // Whether a Transpose moves only axes of size 1, so that the order of elements does not change.
  static bool KeepsOrder(const Type& from, const Type& order) {
    if (!from.is_static() || !order.value || order.value->type() != DType::kInt32) return false;
    int32_t last = -1;
    for (const int32_t axis : order.value->values<int32_t>()) {
      const int32_t at = axis < 0 ? axis + static_cast<int32_t>(from.shape->size()) : axis;
      if ((*from.shape)[static_cast<size_t>(at)] == 1) continue;
      if (at < last) return false;
      last = at;
    }
    return true;
  }

  ValueId IdOf(const Edge& edge) const {
    return first_[static_cast<size_t>(edge.node)] + static_cast<size_t>(std::max(edge.output, 0));
  }

  // Numbers the values. A node has one value for each output up to the last one that is read, and at least one.
  void NumberValues() {
    std::vector<size_t> counts(graph_.nodes.size(), 1);
    const auto count = [&](const Edge& edge) {
      size_t& of = counts[static_cast<size_t>(edge.node)];
      of = std::max(of, static_cast<size_t>(std::max(edge.output, 0)) + 1);
    };
    for (const graph::Node& node : graph_.nodes) std::ranges::for_each(node.inputs, count);
    std::ranges::for_each(graph_.outputs, count);
    ValueId next = 0;
    for (const size_t of : counts) {
      first_.push_back(next);
      next += of;
    }
    first_.push_back(next);
    program_->spots_.resize(next);
    for (ValueId id = 0; id < next; ++id) program_->roots_.push_back(id);
  }

  bool IsKnown(size_t node) const {
    for (ValueId id = first_[node]; id < first_[node + 1]; ++id) {
      const int output = static_cast<int>(id - first_[node]);
      if (!types_.at({static_cast<int>(node), output}).value) return false;
    }
    return !graph_.nodes[node].has_effect;
  }

  bool IsFed(size_t node) const { return graph_.nodes[node].op == "Placeholder"; }

  // Whether the node's output can share the memory of its first input.
  bool SharesInput(size_t node) const {
    const graph::Node& of = graph_.nodes[node];
    if (!of.then.empty() || of.inputs.empty()) return false;
    const Type& from = types_.at(of.inputs[0]);
    const Type& to = types_.at({static_cast<int>(node), 0});
    return HasFixedSize(from) && HasFixedSize(to) && IsAlias(of);  // A known output type implies valid inputs.
  }

  bool NeedsStep(size_t node) const { return !IsFed(node) && !IsKnown(node) && !SharesInput(node); }

  static bool HasFixedSize(const Type& type) { return type.is_static() && tensor::ElementBytes(type.type) > 0; }

  void AssignStorage() {
    for (size_t node = 0; node < graph_.nodes.size(); ++node) {
      for (ValueId id = first_[node]; id < first_[node + 1]; ++id) {
        auto& spot = program_->spots_[id];
        spot.type = types_.at({static_cast<int>(node), static_cast<int>(id - first_[node])});
        if (IsFed(node)) {
          spot.storage = Program::Storage::kFed;
        } else if (IsKnown(node)) {
          spot.storage = Program::Storage::kConstant;
          spot.constant = *spot.type.value;
        } else {
          spot.type.value.reset();
          spot.storage = HasFixedSize(spot.type) ? Program::Storage::kArena : Program::Storage::kAllocated;
        }
      }
      if (!IsFed(node) && !IsKnown(node) && SharesInput(node)) {
        program_->roots_[first_[node]] = program_->roots_[IdOf(graph_.nodes[node].inputs[0])];
      }
    }
  }

  Value ValueOf(ValueId id) const { return {program_->spots_[id].type, id}; }

  void AddStep(size_t node) {
    StepContext context{graph_.nodes[node], {}, {}, weights_};
    for (const Edge& input : graph_.nodes[node].inputs) context.inputs.push_back(ValueOf(IdOf(input)));
    for (ValueId id = first_[node]; id < first_[node + 1]; ++id) context.outputs.push_back(ValueOf(id));
    const MakeStep make_fast = context.node.has_effect ? nullptr : FindFastStep(context.node.op);
    StepPtr step = make_fast == nullptr ? nullptr : make_fast(context);
    if (!step) {
      for (ValueId id = first_[node]; id < first_[node + 1]; ++id) kernels_[id] = program_->steps_.size();
      step = MakeKernelStepOf(context);
    }
    program_->lines_.push_back(LineOf(context, *step));
    program_->step_values_.push_back({RootsOf(context.inputs), RootsOf(context.outputs)});
    program_->scratch_bytes_ = std::max(program_->scratch_bytes_, step->scratch_bytes());
    if (const size_t bytes = BytesOfStep(context, *step); bytes > largest_bytes_ || program_->steps_.empty()) {
      largest_bytes_ = bytes;
      program_->largest_step_ = program_->steps_.size();
    }
    program_->steps_.push_back(std::move(step));
    step_nodes_.push_back(node);
  }

  // Kernels read constants only in plain layout, not packed.
  static StepPtr MakeKernelStepOf(StepContext& context) {
    for (Value& input : context.inputs) {
      if (input.is_const()) input.type.value = context.weights.Plain(*input.type.value);
    }
    return MakeKernelStep(context);
  }

  std::vector<ValueId> RootsOf(std::span<const Value> values) const {
    std::vector<ValueId> roots;
    for (const Value& value : values) roots.push_back(program_->roots_[value.id]);
    return roots;
  }

  static std::vector<Shape> ShapesOf(std::span<const Value> values) {
    std::vector<Shape> shapes;
    for (const Value& value : values) shapes.push_back(value.shape());
    return shapes;
  }

  static PlanStep LineOf(const StepContext& context, const Step& step) {
    PlanStep line{.node = context.node.name, .op = context.node.op, .then = {}, .shape = "?", .how = step.how()};
    for (const graph::Fused& fused : context.node.then) line.then += (line.then.empty() ? "" : ", ") + fused.op;
    if (context.outputs[0].is_static()) line.shape = tensor::ToString(context.outputs[0].shape());
    const auto own = std::span(context.inputs).first(context.inputs.size() - context.fused_operands());
    const auto is_static = [](const Value& value) { return value.is_static(); };
    if (std::ranges::all_of(own, is_static) && std::ranges::all_of(context.outputs, is_static))
      line.flops = graph::Flops(context.node, ShapesOf(own), ShapesOf(context.outputs));
    return line;
  }

  // Takes the outputs that would be in the arena out of it.
  void StoreOutputs() {
    program_->outputs_after_.resize(program_->steps_.size());
    std::map<ValueId, size_t> numbers;  // The position of each root in computed_outputs_.
    for (const ValueId id : program_->outputs_) {
      auto& spot = program_->spots_[program_->roots_[id]];
      if (spot.storage != Program::Storage::kArena) continue;
      spot.storage = Program::Storage::kOutput;
      Program::Output output{.root = program_->roots_[id], .sharing = {}};
      numbers[output.root] = program_->computed_outputs_.size();
      if (const auto made = kernels_.find(output.root); made != kernels_.end()) {
        output.is_of_kernel = true;
        program_->outputs_after_[made->second].push_back(program_->computed_outputs_.size());
      }
      program_->output_bytes_ += BytesOf(spot.type);
      program_->computed_outputs_.push_back(std::move(output));
    }
    for (ValueId id = 0; id < program_->roots_.size(); ++id) {
      const auto number = numbers.find(program_->roots_[id]);
      if (number != numbers.end()) program_->computed_outputs_[number->second].sharing.push_back(id);
    }
  }

  static size_t BytesOf(const Type& type) {
    return static_cast<size_t>(tensor::ElementCount(*type.shape).value_or(0)) * tensor::ElementBytes(type.type);
  }

  // The memory of the step's outputs, as far as it is known before the run, and of its scratch.
  static size_t BytesOfStep(const StepContext& context, const Step& step) {
    size_t sum = step.scratch_bytes();
    for (const Value& output : context.outputs) sum += HasFixedSize(output.type) ? BytesOf(output.type) : 0;
    return sum;
  }

  void PlaceValues() {
    std::vector<Lifetime> lifetimes(program_->spots_.size());
    for (size_t step = 0; step < step_nodes_.size(); ++step) {
      const size_t node = step_nodes_[step];
      for (ValueId id = first_[node]; id < first_[node + 1]; ++id) lifetimes[id].first = lifetimes[id].last = step;
      for (const Edge& input : graph_.nodes[node].inputs) lifetimes[program_->roots_[IdOf(input)]].last = step;
    }
    for (const ValueId output : program_->outputs_) lifetimes[program_->roots_[output]].last = step_nodes_.size();
    program_->freed_after_.resize(step_nodes_.size());
    for (ValueId id = 0; id < lifetimes.size(); ++id) {
      const auto& spot = program_->spots_[id];
      if (spot.storage == Program::Storage::kArena && program_->roots_[id] == id) {
        lifetimes[id].bytes = BytesOf(spot.type);
      }
      if (spot.storage == Program::Storage::kAllocated && lifetimes[id].last < step_nodes_.size() &&
          !step_nodes_.empty())
        program_->freed_after_[lifetimes[id].last].push_back(id);
    }
    const ArenaPlan plan = PlanArena(lifetimes);
    program_->arena_bytes_ = plan.bytes;
    for (ValueId id = 0; id < lifetimes.size(); ++id) {
      program_->spots_[id].offset = plan.offsets[id];
      if (program_->spots_[program_->roots_[id]].storage == Program::Storage::kArena) program_->in_arena_.push_back(id);
    }
  }

  const Graph& graph_;
  const graph::Types& types_;
  Weights& weights_;
  std::unique_ptr<Program> program_;
  std::vector<ValueId> first_;         // The first value of each node; at the end, the number of values.
  std::vector<size_t> step_nodes_;     // The node of each step.
  std::map<ValueId, size_t> kernels_;  // The step of each value that a kernel makes.
  size_t largest_bytes_ = 0;           // Those of program_->largest_step_.
};

struct Program::OwnFrame : Frame {
  std::byte* memory = nullptr;
};

Program::Program() = default;
Program::~Program() = default;

namespace {

// Whether the input shapes of every fused op are known. Type inference after a pass may reach its limits earlier than
// the inference before the pass did, and then know fewer shapes.
bool HaveShapes(const Graph& graph, const graph::Types& types) {
  return std::ranges::all_of(graph.nodes, [&](const graph::Node& node) {
    return !graph::FindOp(node.op).is_fused ||
           std::ranges::all_of(node.inputs, [&](const Edge& input) { return types.at(input).is_static(); });
  });
}

bool AreStatic(const std::map<std::string, Type>& fed) {
  return std::ranges::all_of(fed, [](const auto& named) { return named.second.is_static(); });
}

}  // namespace

std::unique_ptr<Program> Program::Make(const Graph& graph, std::span<const Graph> bodies,
                                       const std::map<std::string, Type>& fed, Weights& weights, Resources& resources,
                                       const Options& options, size_t bytes_max) {
  const auto evaluate = EvaluateByKernels(resources, bytes_max);
  const auto infer = [&](const Graph& of, const auto& types) { return InferTypes(of, bodies, types, evaluate); };
  const graph::Types all = infer(graph, fed);
  if (options.may_cut && AreStatic(fed)) {
    if (auto cut = CutWhereShapesEnd(graph, all)) {
      auto program = Make(cut->head, bodies, fed, weights, resources, {.passes = options.passes}, bytes_max);
      program->cut_ = std::move(cut);
      return program;
    }
  }
  graph::Types types = all;
  std::optional<Graph> passed;
  for (const auto& pass : options.passes) {
    const Graph& before = passed ? *passed : graph;
    std::optional<Graph> after = pass.run(before, types);
    if (!after) continue;
    passed = std::move(after);
    types = infer(*passed, fed);
  }
  if (passed && !HaveShapes(*passed, types)) return Make(graph, bodies, fed, weights, resources, {}, bytes_max);
  const Graph& last = passed ? *passed : graph;
  const auto slices = options.by_row            ? SlicesOfOne(last, types)
                      : options.slice_bytes > 0 ? SlicesThatPay(last, types, options.slice_bytes)
                                                : std::nullopt;
  if (slices) {
    const auto few = WithRows(fed, slices->each);
    if (graph::RowsAreIndependent(graph, all, infer(graph, few), {.many = slices->rows, .few = slices->each})) {
      auto program = Make(graph, bodies, few, weights, resources, {.passes = options.passes}, bytes_max);
      program->slices_ = slices;
      return program;
    }
  }
  return ProgramMaker(last, types, weights).Make();
}

size_t Program::buffer_bytes() const { return RoundedUp(arena_bytes_) + scratch_bytes_; }
size_t Program::run_bytes() const { return buffer_bytes() + output_bytes_; }

int64_t Program::memory_bytes(kernels::CountedBuffers* counted) const {
  int64_t sum = 0;
  for (const Spot& spot : spots_) {
    if (!spot.constant.empty() && spot.constant.device() == tensor::Device{})
      sum += kernels::UncountedBytes(spot.constant, counted);
  }
  return sum;
}

std::vector<ValueId> Program::outputs() const {
  std::vector<ValueId> roots;
  for (const ValueId id : outputs_) roots.push_back(roots_[id]);
  return roots;
}

Tensor Program::ValueIn(const Frame& frame, ValueId id) const {
  if (!frame.made[id].empty()) return frame.made[id];
  const graph::Type& type = spots_[id].type;
  if (frame.data[id] == nullptr || !type.is_static()) return {};
  return Tensor::Wrap(type.type, *type.shape, frame.data[id], nullptr);
}

std::unique_ptr<Program::OwnFrame> Program::TakeFrame() const {
  {
    const std::lock_guard lock(mutex_);
    if (!free_frames_.empty()) {
      auto frame = std::move(free_frames_.back());
      free_frames_.pop_back();
      return frame;
    }
  }
  auto frame = std::make_unique<OwnFrame>();
  frame->data.resize(spots_.size());
  frame->made.resize(spots_.size());
  for (ValueId id = 0; id < spots_.size(); ++id) {
    const Spot& spot = spots_[roots_[id]];
    if (spot.storage == Storage::kConstant && spot.constant.device() == tensor::Device{})
      frame->data[id] = const_cast<std::byte*>(spot.constant.data());
  }
  for (const StepPtr& step : steps_) frame->states.push_back(step->MakeState());
  return frame;
}

void Program::GiveBack(std::unique_ptr<OwnFrame> frame) const {
  const std::lock_guard lock(mutex_);
  free_frames_.push_back(std::move(frame));
}

void Program::Place(std::byte* memory, OwnFrame& frame) const {
  if (frame.memory == memory) return;
  frame.memory = memory;
  frame.scratch = memory + RoundedUp(arena_bytes_);
  for (const ValueId id : in_arena_) frame.data[id] = memory + spots_[roots_[id]].offset;
}

Status Program::Feed(const std::map<std::string, Tensor>& fed, OwnFrame& frame) const {
  for (const auto& [name, id] : fed_) {
    const auto given = fed.find(name);
    if (given == fed.end()) return InvalidArgument("the graph input \"{}\" has no value", name);
    frame.made[id] = given->second;
    frame.data[id] = given->second.elements() == 0 ? frame.memory : frame.made[id].mutable_data();
  }
  for (ValueId id = 0; id < spots_.size(); ++id) {
    if (roots_[id] != id && spots_[roots_[id]].storage == Storage::kFed) frame.data[id] = frame.data[roots_[id]];
  }
  return {};
}

// A kernel allocates its outputs, so their addresses are known only after it has run.
Status Program::PlaceOutputs(OwnFrame& frame) const {
  for (const Output& output : computed_outputs_) {
    Tensor& made = frame.made[output.root];
    made = Tensor();
    if (!output.is_of_kernel) {
      const graph::Type& type = spots_[output.root].type;
      ASSIGN_OR_RETURN(made, Tensor::Make(type.type, *type.shape));
    }
    SetAddress(output, frame);
  }
  return {};
}

void Program::SetAddress(const Output& output, OwnFrame& frame) {
  Tensor& made = frame.made[output.root];
  for (const ValueId id : output.sharing) frame.data[id] = made.empty() ? nullptr : made.mutable_data();
}

Status Program::RunSteps(OwnFrame& frame, const OnStep& on_step) const {
  using Clock = std::chrono::steady_clock;
  for (size_t i = 0; i < steps_.size(); ++i) {
    frame.state = frame.states[i].get();
    const auto began = on_step ? Clock::now() : Clock::time_point();
    RETURN_IF_ERROR(steps_[i]->Run(frame));
    for (const size_t output : outputs_after_[i]) SetAddress(computed_outputs_[output], frame);
    if (on_step) on_step(i, frame, {.began = began, .ended = Clock::now()});
    for (const ValueId id : freed_after_[i]) {
      frame.room_bytes += kernels::HeldBytes({&frame.made[id], 1});
      frame.made[id] = Tensor();
    }
  }
  return {};
}

Result<std::vector<Tensor>> Program::Collect(OwnFrame& frame) const {
  std::vector<Tensor> outputs;
  for (const ValueId id : outputs_) {
    const Spot& spot = spots_[roots_[id]];
    Tensor whole = spot.storage == Storage::kConstant ? spot.constant : frame.made[roots_[id]];
    if (whole.empty()) return DataLoss("an output of the signature does not exist in the graph");
    if (roots_[id] != id) {
      ASSIGN_OR_RETURN(whole, whole.Reshaped(*spots_[id].type.shape));
    }
    outputs.push_back(std::move(whole));
  }
  return outputs;
}

Result<std::vector<Tensor>> Program::RunWhole(const std::map<std::string, Tensor>& fed, OwnFrame& frame,
                                              const OnStep& on_step) const {
  RETURN_IF_ERROR(Feed(fed, frame));
  RETURN_IF_ERROR(PlaceOutputs(frame));
  RETURN_IF_ERROR(RunSteps(frame, on_step));
  return Collect(frame);
}

Result<std::vector<Tensor>> Program::RunSlices(const std::map<std::string, Tensor>& fed, OwnFrame& frame,
                                               const OnStep& on_step) const {
  std::vector<Tensor> whole;
  for (int64_t first = 0; first < slices_->rows; first += slices_->each) {
    std::map<std::string, Tensor> some;
    for (const auto& [name, value] : fed)  // Every slice gets a scalar as a whole.
      some.emplace_hint(some.end(), name, value.rank() == 0 ? value : value.Rows(first, first + slices_->each));
    ASSIGN_OR_RETURN(const auto outputs, RunWhole(some, frame, on_step));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].rank() == 0 || outputs[i].dim(0) != slices_->each)
        return Internal(
            "a run of {} of the request's rows made an output of shape {}, which does not have as many rows",
            slices_->each, tensor::ToString(outputs[i].shape()));
      if (first == 0) {
        Shape shape = outputs[i].shape();
        shape[0] = slices_->rows;
        ASSIGN_OR_RETURN(Tensor made, Tensor::Make(outputs[i].type(), std::move(shape)));
        whole.push_back(std::move(made));
      }
      const size_t at = static_cast<size_t>(first / slices_->each) * outputs[i].bytes();
      std::copy_n(outputs[i].data(), outputs[i].bytes(), whole[i].mutable_data() + at);
    }
  }
  return whole;
}

Result<std::vector<Tensor>> Program::Run(const std::map<std::string, Tensor>& fed, const RunContext& context,
                                         RunMemory& memory, size_t bytes_max, const OnStep& on_step) const {
  const size_t held = run_bytes();
  if (held > bytes_max) {
    const PlanStep& largest = lines_[largest_step_];
    return ResourceExhausted(
        "a run of these shapes needs {} bytes, most of them for op \"{}\" (node \"{}\"), but only {} bytes are left of "
        "the run's memory",
        held, largest.op, largest.node, bytes_max);
  }
  const RunMemory::Buffer buffer =
      memory.Take(buffer_bytes(), context.is_body ? RunMemory::Of::kBody : RunMemory::Of::kRun);
  auto frame = TakeFrame();
  Place(buffer.data(), *frame);
  frame->context = context;
  frame->room_bytes = bytes_max - held;
  auto outputs = slices_ ? RunSlices(fed, *frame, on_step) : RunWhole(fed, *frame, on_step);
  for (Tensor& made : frame->made) made = Tensor();
  GiveBack(std::move(frame));
  return outputs;
}

}  // namespace longshore::engine::cpu
