#include "serving-node/engine/cpu/compiled.h"

#include <omp.h>

#include <algorithm>
#include <new>

#include "serving-node/graph/ops.h"
#include "serving-node/graph/passes/passes.h"

namespace longshore::engine::cpu {
namespace {

// How many different sets of input shapes of a body get a program of their own. Later sets share one program for
// unknown shapes, because the body is then expected to get new shapes in every call. This number is higher than the
// number of a batcher's buckets, and lower than Programs::Options::programs_max.
constexpr size_t kBodyShapesMax = 24;

size_t CountNodes(const graph::Graph& graph) {
  size_t count = 0;
  graph::ForEachNode(graph, [&](const graph::Node& node) {
    if (node.op != "Placeholder" && node.values.empty()) ++count;
  });
  return count;
}

std::vector<graph::passes::ShapePass> ShapePassesBut(const std::set<std::string>& off) {
  std::vector<graph::passes::ShapePass> passes;
  std::ranges::copy_if(graph::passes::ShapePasses(), std::back_inserter(passes),
                       [&](const auto& pass) { return !off.contains(std::string(pass.name)); });
  return passes;
}

// Moves to `weights` the constants that only products read. `weights` keeps them in the layout that the products need.
void MoveToPackedStore(graph::Graph* graph, Weights* weights) {
  std::vector<bool> has_other_readers(graph->nodes.size());
  for (const graph::Node& node : graph->nodes) {
    const int weight_input = graph::FindOp(node.op).weight_input;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (static_cast<int>(i) != weight_input) has_other_readers[static_cast<size_t>(node.inputs[i].node)] = true;
    }
  }
  for (const graph::Edge& output : graph->outputs) has_other_readers[static_cast<size_t>(output.node)] = true;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    auto& values = graph->nodes[i].values;
    if (has_other_readers[i] || values.size() != 1 || values[0].type() != DType::kFloat) continue;
    if (values[0].elements() > 0) values[0] = weights->Store(values[0]);
  }
}

// Returns the steps of the program and of the parts behind its cut. The steps of a part are those of its last run;
// before the first run, its nodes are listed.
std::vector<PlanStep> StepsOf(const Programs::Made& made) {
  std::vector<PlanStep> steps = made.program->lines();
  if (made.tail == nullptr) return steps;
  if (const auto newest = made.tail->Newest()) {
    std::ranges::move(StepsOf(*newest), std::back_inserter(steps));
    return steps;
  }
  for (const graph::Node& node : made.program->cut()->tail.nodes) {
    if (node.op == "Placeholder" || !node.values.empty()) continue;
    steps.push_back({.node = node.name, .op = node.op, .then = {}, .shape = "?", .how = "compiled in the run"});
  }
  return steps;
}

// The slices of the program, or else those of the part behind its cut in its last run.
std::optional<Slices> SlicesOf(const Programs::Made& made) {
  if (made.program->slices() || made.tail == nullptr) return made.program->slices();
  const auto newest = made.tail->Newest();
  return newest ? SlicesOf(*newest) : std::nullopt;
}

// The memory of the values without those that share the memory of a fed value.
size_t BytesMade(std::span<const Tensor> values, const std::map<std::string, Tensor>& fed) {
  size_t sum = 0;
  for (const Tensor& value : values) {
    const auto shares = [&](const auto& named) { return named.second.data() == value.data(); };
    if (std::ranges::none_of(fed, shares)) sum += kernels::HeldBytes({&value, 1});
  }
  return sum;
}

// The name under which a program of a body is fed the argument at `position`.
std::string ArgumentName(size_t position) { return fmt::format("{:04}", position); }

void NameArguments(graph::Graph* body) {
  for (size_t i = 0; i < body->arguments.size(); ++i) body->fed[ArgumentName(i)] = body->arguments[i];
}

}  // namespace

Compiled::Compiled(graph::Graph graph, ExecutionOptions options, std::shared_ptr<RunMemory> memory,
                   std::shared_ptr<Weights> weights, const host::Fold& fold)
    : options_(std::move(options)), memory_(std::move(memory)), weights_(std::move(weights)) {
  passed_.nodes = CountNodes(graph);
  for (const auto& pass : graph::passes::LoadPasses()) {
    if (options_.passes_off.contains(std::string(pass.name))) continue;
    graph = pass.run(graph);
    if (fold && pass.makes_constants) graph = fold(std::move(graph));
    passed_.passes.push_back({std::string(pass.name), CountNodes(graph)});
  }
  MoveToPackedStore(&graph, weights_.get());
  graph_ = std::move(graph);
  passes_ = ShapePassesBut(options_.passes_off);
  const auto is_on = [&](std::string_view name) { return !options_.passes_off.contains(std::string(name)); };
  const bool may_slice = is_on(graph::passes::kSlices);
  const int parts_max = is_on(graph::passes::kParts) ? Programs::kPartsMax : 1;
  programs_ =
      std::make_unique<Programs>(graph_, graph_.bodies, *weights_,
                                 Programs::Options{.program = {.passes = passes_,
                                                               .slice_bytes = may_slice ? options_.slice_bytes : 0,
                                                               .by_row = may_slice && options_.by_row},
                                                   .parts_max = parts_max});
  for (graph::Graph& body : graph_.bodies) {
    MoveToPackedStore(&body, weights_.get());
    NameArguments(&body);
    bodies_.push_back(std::make_unique<Programs>(
        body, graph_.bodies, *weights_,
        Programs::Options{.program = {.passes = passes_}, .parts_max = parts_max, .shapes_max = kBodyShapesMax}));
  }
}

// Runs the bodies of one run (of loops and branches) as programs.
class Compiled::Bodies : public kernels::Bodies {
 public:
  Bodies(const Compiled& compiled, Resources& resources, size_t memory_bytes_max)
      : kernels::Bodies(compiled.options_.limits),
        memory_bytes_max_(memory_bytes_max),
        compiled_(compiled),
        context_{.resources = &resources, .tables = &tables_, .bodies = this} {
    omp_set_num_threads(compiled.options_.threads);  // Applies to the calling thread only.
  }

  // Runs the program and then the parts of the graph behind its cuts.
  Result<std::vector<Tensor>> RunAll(const Programs::Made& made, const std::map<std::string, Tensor>& fed,
                                     size_t room_bytes) {
    ASSIGN_OR_RETURN(const auto of_head, RunPart(*made.program, fed, room_bytes));
    const auto& cut = made.program->cut();
    if (!cut) return of_head;
    const size_t left = room_bytes - std::min(room_bytes, BytesMade(of_head, fed));
    const auto feeds = cut->Feeds(fed, of_head);
    ASSIGN_OR_RETURN(const auto of_tail, RunAll(*Find(*made.tail, feeds, {}), feeds, left));
    return cut->Outputs(of_head, of_tail);
  }

  // Returns the program of `programs` for the fed shapes, and notes whether it had to be made.
  std::shared_ptr<const Programs::Made> Find(const Programs& programs, const std::map<std::string, Tensor>& fed,
                                             std::span<const size_t> wanted) {
    Programs::Found found = programs.For(fed, wanted, *context_.resources, memory_bytes_max_);
    planned_ = planned_ || found.planned;
    return std::move(found.made);
  }
  bool planned() const { return planned_; }

 protected:
  Result<std::vector<Tensor>> RunProgram(const Program& program, const std::map<std::string, Tensor>& fed,
                                         size_t room_bytes, const OnStep& on_step = nullptr) {
    return program.Run(fed, context_, *compiled_.memory_, room_bytes, on_step);
  }

  const size_t memory_bytes_max_;  // The limit of the whole run.

 private:
  // Runs a program, without the parts behind its cut.
  virtual Result<std::vector<Tensor>> RunPart(const Program& program, const std::map<std::string, Tensor>& fed,
                                              size_t room_bytes) {
    return RunProgram(program, fed, room_bytes);
  }
  // Runs the program of a body.
  virtual kernels::Outputs RunBody(const Programs::Made& made, const std::map<std::string, Tensor>& fed,
                                   size_t room_bytes) {
    return RunAll(made, fed, room_bytes);
  }

  kernels::Outputs Compute(int body, std::vector<Tensor> arguments, size_t room_bytes) override {
    const graph::Graph& graph = compiled_.graph_.bodies[static_cast<size_t>(body)];
    if (arguments.size() != graph.arguments.size())
      return InvalidArgument("the body of a condition or loop is called with {} arguments instead of {}",
                             arguments.size(), graph.arguments.size());
    std::map<std::string, Tensor> fed;
    for (size_t i = 0; i < arguments.size(); ++i) fed.emplace_hint(fed.end(), ArgumentName(i), std::move(arguments[i]));
    const auto made = Find(*compiled_.bodies_[static_cast<size_t>(body)], fed, {});
    const bool is_within_body = std::exchange(context_.is_body, true);
    auto outputs = RunBody(*made, fed, room_bytes);
    context_.is_body = is_within_body;
    return outputs;
  }

  const Compiled& compiled_;
  kernels::RunTables tables_;
  RunContext context_;
  bool planned_ = false;  // A program had to be made in this run.
};

Result<std::vector<Tensor>> Compiled::Run(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                          Resources& resources, size_t memory_bytes_max, bool* planned) const {
  Bodies bodies(*this, resources, memory_bytes_max);
  auto outputs = bodies.RunAll(*bodies.Find(*programs_, fed, wanted), fed, memory_bytes_max);
  if (planned != nullptr) *planned = bodies.planned();
  return outputs;
}

// Bodies and parts behind a cut are planned for shapes that are known only in the run.
bool Compiled::IsPlanned(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted) const {
  const auto made = graph_.bodies.empty() ? programs_->IfMade(fed, wanted) : nullptr;
  return made != nullptr && made->tail == nullptr;
}

// A run that notes the time of every step. Steps of a body are noted before the step that runs the body.
class Compiled::Profiling final : public Compiled::Bodies {
 public:
  Profiling(const Compiled& compiled, Resources& resources, size_t memory_bytes_max, RunProfile* profile)
      : Bodies(compiled, resources, memory_bytes_max), profile_(profile) {}

 private:
  using Clock = std::chrono::steady_clock;

  void NoteWhereMemorySuffices(const Program& program, size_t at, const Frame& frame, const StepTime& time) {
    try {
      Note(program, at, frame, time);
    } catch (const std::bad_alloc&) {
      profile_->left_out += 1;
    }
  }

  void Note(const Program& program, size_t at, const Frame& frame, const StepTime& time) {
    const PlanStep& step = program.lines()[at];
    NodeRun run{.node = step.node,
                .op = step.op,
                .then = step.then,
                .how = step.how,
                .took = time.ended - time.began - within_,
                .began = time.began - profile_->began,
                .ended = time.ended - profile_->began,
                .flops = step.flops,
                .held_bytes = memory_bytes_max_ - frame.room_bytes};
    for (const ValueId id : program.ValuesOf(at).made) {
      const Tensor value = program.ValueIn(frame, id);
      if (value.empty()) continue;
      if (run.output.empty()) run.output = TypeText(value);
      run.bytes += kernels::HeldBytes({&value, 1});
    }
    profile_->bytes_peak = std::max(profile_->bytes_peak, run.held_bytes);
    profile_->Note(std::move(run));
  }

  Result<std::vector<Tensor>> RunPart(const Program& program, const std::map<std::string, Tensor>& fed,
                                      size_t room_bytes) override {
    // Starts with the time that earlier parts and bodies of this step took, for example previous iterations of a loop.
    auto steps_took = std::exchange(within_, Clock::duration(0));
    auto outputs = RunProgram(program, fed, room_bytes, [&](size_t at, const Frame& frame, const StepTime& time) {
      NoteWhereMemorySuffices(program, at, frame, time);
      within_ = Clock::duration(0);
      steps_took += Clock::now() - time.began;
    });
    within_ = steps_took;
    return outputs;
  }

  RunProfile* const profile_;
  Clock::duration within_{0};  // Time in bodies of the current step, including the time to note their steps.
};

Result<std::vector<Tensor>> Compiled::Profile(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                              Resources& resources, size_t memory_bytes_max,
                                              RunProfile* profile) const {
  Profiling bodies(*this, resources, memory_bytes_max, profile);
  const auto made = bodies.Find(*programs_, fed, wanted);
  profile->plan = std::chrono::steady_clock::now() - profile->began;
  profile->bytes_peak = made->program->run_bytes();
  auto outputs = bodies.RunAll(*made, fed, memory_bytes_max);
  profile->planned = bodies.planned();
  return outputs;
}

// A run that tracks the origins of NaN and Inf, also within bodies.
class Compiled::Tracing final : public Compiled::Bodies {
 public:
  using Bodies::Bodies;

  // Runs the program and tracks origins. On entry, `origins` has the origins of the fed values; on return, those of all
  // values.
  Result<std::vector<Tensor>> RunTraced(const Program& program, const std::map<std::string, Tensor>& fed,
                                        interpreter::Origins<ValueId>* origins, size_t room_bytes) {
    return RunProgram(program, fed, room_bytes, [&](size_t at, const Frame& frame, auto) {
      const std::vector<ValueId>& made = program.ValuesOf(at).made;
      const interpreter::Maker maker = MakerOf(program, at, *origins);
      for (size_t i = 0; i < made.size(); ++i) {
        const bool is_of_body = i < returned_.size() && !returned_[i].node.empty();
        origins->Note(made[i], program.ValueIn(frame, made[i]), is_of_body ? returned_[i] : maker);
      }
      returned_.clear();
    });
  }

 private:
  // The origin of the first non-finite value that the step reads, or the step itself if all are finite.
  static interpreter::Maker MakerOf(const Program& program, size_t at, const interpreter::Origins<ValueId>& origins) {
    for (const ValueId read : program.ValuesOf(at).read) {
      if (const interpreter::Maker* blamed = origins.Of(read)) return *blamed;
    }
    return {.node = program.lines()[at].node, .op = program.lines()[at].op};
  }

  // Runs a part of a body.
  Result<std::vector<Tensor>> RunPart(const Program& program, const std::map<std::string, Tensor>& fed,
                                      size_t room_bytes) override {
    interpreter::Origins<ValueId> origins;
    for (const auto& [name, id] : program.fed()) {
      const Tensor& value = fed.at(name);
      origins.Note(id, value, MakerAcross(value));
    }
    ASSIGN_OR_RETURN(auto outputs, RunTraced(program, fed, &origins, room_bytes));
    const std::vector<ValueId> ids = program.outputs();
    for (size_t i = 0; i < ids.size(); ++i) {
      const interpreter::Maker* maker = origins.Of(ids[i]);
      across_.Note(outputs[i].data(), outputs[i], maker == nullptr ? interpreter::Maker() : *maker);
    }
    return outputs;
  }

  kernels::Outputs RunBody(const Programs::Made& made, const std::map<std::string, Tensor>& fed,
                           size_t room_bytes) override {
    std::vector<interpreter::Maker> returned = std::exchange(returned_, {});
    ASSIGN_OR_RETURN(auto outputs, RunAll(made, fed, room_bytes));
    returned_.clear();
    const bool is_condition = outputs.size() == 1 && outputs[0].type() == DType::kBool;
    if (is_condition) {
      returned_ = std::move(returned);
    } else {
      for (const Tensor& output : outputs) returned_.push_back(MakerAcross(output));
    }
    return outputs;
  }

  // The maker of a value that a body or a part of it got or returned.
  interpreter::Maker MakerAcross(const Tensor& value) const {
    const interpreter::Maker* maker = across_.Of(value.data());
    return maker == nullptr ? interpreter::Maker() : *maker;
  }

  // In both members, a maker has no name if no node of a body made the value non-finite.
  std::vector<interpreter::Maker> returned_;  // The makers of the outputs of the last body in this step.
  interpreter::Origins<const std::byte*>
      across_;  // The makers of all values that bodies and their parts returned, by address.
};

// Fusion is off, so that errors name original nodes. Programs of bodies are shared with normal runs and stay fused.
Result<std::optional<interpreter::Origin>> Compiled::FindNonFinite(const std::map<std::string, Tensor>& fed,
                                                                   Resources& resources,
                                                                   size_t memory_bytes_max) const {
  Tracing bodies(*this, resources, memory_bytes_max);
  const auto program = programs_->ForTracing(fed, resources, memory_bytes_max);
  interpreter::Origins<ValueId> origins;
  for (const auto& [name, id] : program->fed()) {
    const auto& node = graph_.nodes[static_cast<size_t>(graph_.fed.at(name))];
    if (const auto given = fed.find(name); given != fed.end()) origins.Note(id, given->second, {node.name, node.op});
  }
  RETURN_IF_ERROR(bodies.RunTraced(*program, fed, &origins, memory_bytes_max));
  const std::vector<ValueId> outputs = program->outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (const interpreter::Maker* maker = origins.Of(outputs[i]))
      return interpreter::Origin{.output = i, .maker = *maker};
  }
  return std::nullopt;
}

PlanView Compiled::Explain(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                           Resources& resources) const {
  omp_set_num_threads(options_.threads);
  const auto made = programs_->For(fed, wanted, resources, SIZE_MAX).made;
  PlanView view = passed_;
  view.steps = StepsOf(*made);
  view.run_bytes = made->program->run_bytes();
  if (const auto slices = SlicesOf(*made)) view.rows_at_once = slices->each;
  return view;
}

int64_t Compiled::memory_bytes(kernels::CountedBuffers* counted) const {
  int64_t sum = weights_->memory_bytes(counted) + programs_->memory_bytes(counted);
  for (const auto& body : bodies_) sum += body->memory_bytes(counted);
  return sum;
}

}  // namespace longshore::engine::cpu
