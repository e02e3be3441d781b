// A graph compiled for one set of input shapes: its steps, and where every value is stored.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "serving-node/engine/cpu/cut.h"
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
// Called after each step, with the frame that holds its outputs.
using OnStep = std::function<void(size_t step, const Frame& frame, const StepTime& time)>;

// Immutable and thread-safe: any number of runs may be active at once, each with its own frame.
class Program {
 public:
  ~Program();

  struct Options {
    std::span<const graph::passes::ShapePass> passes = {};  // The passes to run; must outlive these options.
    int64_t slice_bytes = 0;  // See ExecutionOptions::slice_bytes; 0 if runs must not be sliced for their size.
    bool by_row = false;      // Cut runs into slices of one row if rows are independent.
    bool may_cut = false;     // Cut the graph where shapes end.
  };

  // `bodies` has the bodies of the main graph. `fed` has the types of the fed tensors, by the names in Graph::fed;
  // shapes may be unknown. `bytes_max` is the memory limit of a run, and of any value that Make computes. oneDNN
  // primitives are made for the number of threads that OpenMP has set for the calling thread.
  static std::unique_ptr<Program> Make(const graph::Graph& graph, std::span<const graph::Graph> bodies,
                                       const std::map<std::string, graph::Type>& fed, Weights& weights,
                                       Resources& resources, const Options& options, size_t bytes_max);

  // Returns all outputs of the graph, in order; with cut(), those of Cut::head. `on_step` is called for the
  // steps of each slice; without it, this costs nothing. Returns the error of a kernel that fails, or ResourceExhausted
  // if the run would hold more than bytes_max.
  Result<std::vector<Tensor>> Run(const std::map<std::string, Tensor>& fed, const RunContext& context,
                                  RunMemory& memory, size_t bytes_max, const OnStep& on_step = nullptr) const;

  const std::vector<PlanStep>& lines() const { return lines_; }    // Descriptions of the steps.
  const std::optional<Slices>& slices() const { return slices_; }  // nullopt if runs are not sliced.
  const std::optional<Cut>& cut() const { return cut_; }  // If set, this program is for the head, and the tail follows.
  // The memory of a run in bytes, without the values in Storage::kAllocated.
  size_t run_bytes() const;

  // The memory of the constants that are not in Weights.
  int64_t memory_bytes(kernels::CountedBuffers* counted) const;

  // The values that a step reads and makes, for profiling and tracing. Values that share memory under different shapes
  // have one id.
  struct StepValues {
    std::vector<ValueId> read;
    std::vector<ValueId> made;
  };
  const StepValues& ValuesOf(size_t step) const { return step_values_[step]; }
  const std::map<std::string, ValueId>& fed() const { return fed_; }
  std::vector<ValueId> outputs() const;
  // Returns a view of the value in the frame's memory; an empty tensor if the frame does not hold the value.
  Tensor ValueIn(const Frame& frame, ValueId id) const;

 private:
  friend class ProgramMaker;
  Program();
  // The place where a value is stored.
  enum class Storage {
    kArena,      // In the run's buffer, at a fixed offset.
    kConstant,   // In Spot::constant.
    kFed,        // In the tensor that the caller gave.
    kAllocated,  // In a tensor that the run allocates, because its size is known only then (also for strings).
    kOutput,     // In the tensor that the run returns, so that it need not be copied.
  };
  struct Spot {
    Storage storage = Storage::kAllocated;
    size_t offset = 0;  // The offset of a value in the arena, in bytes.
    Tensor constant;
    graph::Type type;
  };
  // A computed value of known size that the run returns.
  struct Output {
    ValueId root;
    std::vector<ValueId> sharing;  // All values that share its memory, with the root itself.
    bool is_of_kernel = false;     // A kernel allocates it in its step; others are allocated before the first step.
  };
  struct OwnFrame;

  size_t buffer_bytes() const;  // The size of the run's buffer: the arena, and the scratch memory behind it.
  std::unique_ptr<OwnFrame> TakeFrame() const;
  void GiveBack(std::unique_ptr<OwnFrame> frame) const;
  void Place(std::byte* memory, OwnFrame& frame) const;
  Status Feed(const std::map<std::string, Tensor>& fed, OwnFrame& frame) const;
  Status PlaceOutputs(OwnFrame& frame) const;
  static void SetAddress(const Output& output, OwnFrame& frame);
  Status RunSteps(OwnFrame& frame, const OnStep& on_step) const;
  Result<std::vector<Tensor>> Collect(OwnFrame& frame) const;
  Result<std::vector<Tensor>> RunWhole(const std::map<std::string, Tensor>& fed, OwnFrame& frame,
                                       const OnStep& on_step) const;
  Result<std::vector<Tensor>> RunSlices(const std::map<std::string, Tensor>& fed, OwnFrame& frame,
                                        const OnStep& on_step) const;

  std::vector<Spot> spots_;     // Indexed by value.
  std::vector<ValueId> roots_;  // For each value, the value whose memory it shares; mostly itself.
  std::vector<StepPtr> steps_;
  std::vector<PlanStep> lines_;
  std::vector<StepValues> step_values_;
  std::vector<std::vector<ValueId>> freed_after_;   // For each step, the kAllocated values that no later step reads.
  std::vector<std::vector<size_t>> outputs_after_;  // For each step, the computed_outputs_ that its kernel makes.
  std::map<std::string, ValueId> fed_;
  std::vector<ValueId> outputs_;
  std::vector<Output> computed_outputs_;
  std::vector<ValueId> in_arena_;
  std::optional<Slices> slices_;  // If set, all other members are for one slice.
  size_t arena_bytes_ = 0;
  size_t scratch_bytes_ = 0;
  size_t output_bytes_ = 0;
  size_t largest_step_ = 0;  // The step with the largest outputs and scratch, if there are steps.
  std::optional<Cut> cut_;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<OwnFrame>> free_frames_;
};

}  // namespace longshore::engine::cpu
