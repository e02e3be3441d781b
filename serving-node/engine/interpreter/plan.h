// A signature ready to run. Constant parts are computed once at load; each run computes the other nodes in order. A run
// frees each buffer after its last use.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "serving-node/engine/engine.h"
#include "serving-node/engine/interpreter/origins.h"
#include "serving-node/engine/kernels/base/bodies.h"
#include "serving-node/graph/graph.h"

namespace longshore::engine::interpreter {

// Collects the unsupported ops of all graphs of a model, so that one error message names them all: each op with one of
// its nodes and the number of its other nodes.
class Unsupported {
 public:
  // Adds the unsupported ops of the graph and its bodies.
  void Check(const graph::Graph& graph);

  // Returns Unimplemented with a message that names every unsupported op; ok if no op is unsupported.
  Status ToStatus() const;
  std::vector<UnsupportedOp> ToList() const;

 private:
  void Add(const graph::Node& node, const std::string& reason);
  std::map<std::string, UnsupportedOp> seen_;
};

// Immutable and thread-safe: any number of runs may be active at once. The graph must have passed Unsupported::Check.
class Plan {
 public:
  // `fold`: Make computes the nodes that depend on no feed, so that a run need not compute them. `fold_variables`: Make
  // also computes the nodes that read variables.
  struct Folding {
    bool fold = false;
    bool fold_variables = false;
  };
  static Result<Plan> Make(graph::Graph graph, Folding folding, kernels::Resources& resources);

  // Runs the graph. `fed` has exactly the graph's feeds, by tensor name. `wanted` has positions in the graph's outputs;
  // if it is empty, all outputs are wanted. The result has one tensor for each wanted output, in that order. `after`,
  // if given, is called after every node, also after the nodes of bodies. Errors name the op and the node:
  // InvalidArgument if the op rejects its inputs.
  // ResourceExhausted if the outputs of the op would bring the memory of the run above memory_bytes_max (checked before
  // the op allocates them), or if a loop or recursion reaches its limits.
  using AfterNode = std::function<void(const graph::Node& node, std::span<const tensor::Tensor> inputs,
                                       const std::vector<tensor::Tensor>& outputs)>;
  Result<std::vector<tensor::Tensor>> Run(const std::map<std::string, tensor::Tensor>& fed,
                                          std::span<const size_t> wanted, kernels::Resources& resources,
                                          size_t memory_bytes_max = SIZE_MAX, const AfterNode& after = nullptr,
                                          const kernels::RunLimits& limits = {}) const;

  // Finds the node that made the first NaN or Inf of the first output that has one. Returns nullopt if all outputs are
  // finite. Returns the errors of Run.
  Result<std::optional<Origin>> FindNonFinite(const std::map<std::string, tensor::Tensor>& fed,
                                              kernels::Resources& resources, size_t memory_bytes_max,
                                              const kernels::RunLimits& limits = {}) const;

  // Like Run. Adds the nodes and the peak memory to the profile.
  Result<std::vector<tensor::Tensor>> Profile(const std::map<std::string, tensor::Tensor>& fed,
                                              std::span<const size_t> wanted, kernels::Resources& resources,
                                              size_t memory_bytes_max, RunProfile* profile,
                                              const kernels::RunLimits& limits = {}) const;

  // The memory of the values computed at load.
  int64_t folded_bytes(kernels::CountedBuffers* counted) const;

  // Returns the graph with constants in place of the nodes that were computed at load, for passes and other engines.
  // Shares their values.
  graph::Graph ToGraph() const;
  // Returns the nodes in the order of a run. Each is run by its reference kernel.
  PlanView Explain() const;

 private:
  // The values of one run of the graph or of a body: for each node its outputs, which are released after their last
  // use.
  using Values = std::vector<std::vector<tensor::Tensor>>;
  class RunState;

  static Result<Plan> MakeOne(graph::Graph graph);
  Status Fold(Folding folding, kernels::Resources& resources);
  kernels::Outputs ComputeAtLoad(size_t node, RunState& run_state) const;
  void FoldInBody(Folding folding, kernels::Resources& resources);
  void FreeUnreadFolded();
  graph::Graph WithFolded() const;
  bool IsFoldable(size_t node, Folding folding, const std::vector<bool>& pure_bodies) const;
  std::vector<bool> PureBodies(Folding folding) const;
  void CountUses();
  Status Execute(const std::vector<bool>& needed, size_t memory_bytes_max, RunState& run_state, Values* values) const;
  Result<std::vector<tensor::Tensor>> RunBody(std::vector<tensor::Tensor> arguments, size_t memory_bytes_max,
                                              RunState& run_state) const;
  Result<std::vector<tensor::Tensor>> Compute(size_t node, const Values& values, size_t room_bytes,
                                              RunState& run_state) const;
  Result<tensor::Tensor> ValueAt(const graph::Edge& edge, const Values& values) const;
  std::vector<bool> NeededFor(std::span<const size_t> wanted) const;

  graph::Graph graph_;
  std::vector<Plan> bodies_;                         // In the order of the graph's bodies.
  std::vector<const kernels::Kernel*> kernels_;      // The kernel of each node; nullptr for fed nodes and constants.
  std::vector<std::vector<tensor::Tensor>> folded_;  // For each node, its outputs computed at load; else empty.
  std::vector<bool> is_folded_;
  std::vector<size_t> order_;                  // The nodes that a run computes, in this order.
  std::vector<std::vector<int>> freed_after_;  // For each node, the nodes whose outputs it is the last to read.
};

}  // namespace longshore::engine::interpreter
