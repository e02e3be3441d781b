// A graph for one set of input shapes: steps, and where every value lies.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/error.h"
#include "serving-node/engine/cpu/run_memory.h"
#include "serving-node/engine/cpu/slices.h"
#include "serving-node/engine/cpu/steps/onednn.h"
#include "serving-node/engine/cpu/steps/step.h"
#include "serving-node/engine/engine.h"
#include "serving-node/graph/graph.h"
#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/types.h"

namespace longshore::engine::cpu {

struct StepTime {
  std::chrono::steady_clock::time_point began;
  std::chrono::steady_clock::time_point ended;
};
// Told of each step when it has run, what it has left in the frame, and when it ran.
using OnStep = std::function<void(size_t step, const Frame& frame, const StepTime& time)>;

// Immutable once made; any number of runs at once, each with a frame of its own.
class Program {
 public:
  ~Program();

  struct Options {
    std::span<const graph::passes::ShapePass> passes = {};  // That are run; they outlive whoever keeps the options.
    int64_t slice_bytes = 0;                                // What a step of a slice is to move; 0: runs are whole.
    bool by_row = false;                                    // Slices are of one row, where rows can be told apart.
  };

  // `bodies`: of the whole graph. `fed`: the types of what is fed, by the graph's names for it; what is not known of
  // them is left to each run. `bytes_max`: what a run may hold, and the making of any one value. Primitives are made
  // for as many threads as OpenMP has for this one.
  static std::unique_ptr<Program> Make(const graph::Graph& graph, std::span<const graph::Graph> bodies,
                                       const std::map<std::string, graph::Type>& fed, Weights& weights,
                                       Resources& resources, const Options& options, size_t bytes_max);

  // All outputs of the graph, in order; `on_step` costs nothing where it is none, and is told of each slice. Errors: of
  // the kernel that refused its inputs; ResourceExhausted when the run would hold more than bytes_max.
  Result<std::vector<Tensor>> Run(const std::map<std::string, Tensor>& fed, const RunContext& context,
                                  RunMemory& memory, size_t bytes_max, const OnStep& on_step = nullptr) const;

  const std::vector<PlanStep>& lines() const { return lines_; }
  const std::optional<Slices>& slices() const { return slices_; }  // nullopt: runs are whole.
  // That a run holds, beside what only the run knows.
  size_t run_bytes() const;

  // Of the constants that are not those of Weights.
  int64_t memory_bytes(reference::kernels::CountedBuffers* counted) const;

  // For those who look at a run. Values that are the same under another shape have one id.
  struct StepValues {
    std::vector<ValueId> read;
    std::vector<ValueId> made;
  };
  const StepValues& ValuesOf(size_t step) const { return step_values_[step]; }
  const std::map<std::string, ValueId>& fed() const { return fed_; }
  std::vector<ValueId> outputs() const;
  // Empty where it lies nowhere. Shares the frame's memory.
  Tensor ValueIn(const Frame& frame, ValueId id) const;

 private:
  friend class ProgramMaker;
  Program();
  // Where a value lies.
  enum class Home { kArena, kConstant, kFed, kMade };
  struct Spot {
    Home home = Home::kMade;
    size_t offset = 0;  // In the arena.
    Tensor constant;
    graph::Type type;
  };
  struct OwnFrame;

  std::unique_ptr<OwnFrame> TakeFrame() const;
  void GiveBack(std::unique_ptr<OwnFrame> frame) const;
  void Place(std::byte* memory, OwnFrame& frame) const;
  Status Feed(const std::map<std::string, Tensor>& fed, OwnFrame& frame) const;
  Status RunSteps(OwnFrame& frame, const OnStep& on_step) const;
  Result<std::vector<Tensor>> Collect(OwnFrame& frame) const;
  Result<std::vector<Tensor>> RunWhole(const std::map<std::string, Tensor>& fed, OwnFrame& frame,
                                       const OnStep& on_step) const;
  Result<std::vector<Tensor>> RunSlices(const std::map<std::string, Tensor>& fed, OwnFrame& frame,
                                        const OnStep& on_step) const;

  std::vector<Spot> spots_;     // By value.
  std::vector<ValueId> roots_;  // By value: whose memory it shares; itself mostly.
  std::vector<StepPtr> steps_;
  std::vector<PlanStep> lines_;
  std::vector<StepValues> step_values_;
  std::vector<std::vector<ValueId>> freed_after_;  // By step: values made by the run that nobody needs any more.
  std::map<std::string, ValueId> fed_;
  std::vector<ValueId> outputs_;
  std::vector<ValueId> in_arena_;
  std::optional<Slices> slices_;  // All else is of one slice.
  size_t arena_bytes_ = 0;
  size_t scratch_bytes_ = 0;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<OwnFrame>> free_frames_;
};

}  // namespace longshore::engine::cpu
