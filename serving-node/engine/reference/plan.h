// One signature, ready to run: what is known at load is computed once, the rest in order, and buffers go when last
// used.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "serving-node/engine/engine.h"
#include "serving-node/engine/reference/kernels/bodies.h"
#include "serving-node/engine/reference/origins.h"
#include "serving-node/graph/graph.h"

namespace longshore::engine::reference {

// Ops without a kernel, one node of each and how many more: collected over all of a model's graphs, so that the one
// message names them all.
class Unsupported {
 public:
  // Looks at every node of the graph and of its bodies.
  void Check(const graph::Graph& graph);

  // Unimplemented with every op; ok when there was none.
  Status ToStatus() const;
  std::vector<UnsupportedOp> ToList() const;

 private:
  void Add(const graph::Node& node, const std::string& reason);
  std::map<std::string, UnsupportedOp> seen_;
};

// Immutable once made: any number of runs at once. The graph must have passed Unsupported::Check.
class Plan {
 public:
  // `fold` says whether to compute now what depends on no feed; variables only when `fold_variables`.
  struct Folding {
    bool fold = false;
    bool fold_variables = false;
  };
  static Result<Plan> Make(graph::Graph graph, Folding folding, kernels::Resources& resources);

  // `fed` by tensor name, exactly the graph's feeds. `wanted` are positions in the graph's outputs; empty: all of them.
  // The result has one tensor for each, in that order. InvalidArgument names the op and the node that refused its
  // inputs; ResourceExhausted the one whose outputs would bring what the run holds above memory_bytes_max, found before
  // an op makes much of little, or when a loop or a recursion reaches its limits. `after`, when given, sees what every
  // node makes, those of bodies included.
  using AfterNode = std::function<void(const graph::Node& node, std::span<const tensor::Tensor> inputs,
                                       const std::vector<tensor::Tensor>& outputs)>;
  Result<std::vector<tensor::Tensor>> Run(const std::map<std::string, tensor::Tensor>& fed,
                                          std::span<const size_t> wanted, kernels::Resources& resources,
                                          size_t memory_bytes_max = SIZE_MAX, const AfterNode& after = nullptr,
                                          const kernels::RunLimits& limits = {}) const;

  // Which node made the first NaN or Inf of the first output that has one; nullopt: all outputs are finite. Errors as
  // of Run.
  Result<std::optional<Origin>> FindNonFinite(const std::map<std::string, tensor::Tensor>& fed,
                                              kernels::Resources& resources, size_t memory_bytes_max,
                                              const kernels::RunLimits& limits = {}) const;

  // As Run; fills the nodes and the peak of the profile.
  Result<std::vector<tensor::Tensor>> Profile(const std::map<std::string, tensor::Tensor>& fed,
                                              std::span<const size_t> wanted, kernels::Resources& resources,
                                              size_t memory_bytes_max, RunProfile* profile,
                                              const kernels::RunLimits& limits = {}) const;

  // Bytes of what was computed at load.
  int64_t folded_bytes(kernels::CountedBuffers* counted) const;

  // The graph with what was computed at load as constants, for passes and other engines. Values are shared, not copied.
  graph::Graph ToGraph() const;
  // Its nodes in order, each by its kernel.
  PlanView Explain() const;

 private:
  // The values of one run, or of one of a body: for each node its outputs, while somebody still needs them.
  using Values = std::vector<std::vector<tensor::Tensor>>;
  class Running;

  static Result<Plan> MakeOne(graph::Graph graph);
  Status Fold(Folding folding, kernels::Resources& resources);
  kernels::Outputs ComputeNow(size_t node, Running& running) const;
  void FoldInBody(Folding folding, kernels::Resources& resources);
  void KeepWhatIsRead();
  graph::Graph WithFolded() const;
  bool IsFoldable(size_t node, Folding folding, const std::vector<bool>& pure_bodies) const;
  std::vector<bool> PureBodies(Folding folding) const;
  void CountUses();
  Status Execute(const std::vector<bool>& needed, size_t memory_bytes_max, Running& running, Values* values) const;
  Result<std::vector<tensor::Tensor>> RunBody(std::vector<tensor::Tensor> arguments, size_t memory_bytes_max,
                                              Running& running) const;
  Result<std::vector<tensor::Tensor>> Compute(size_t node, const Values& values, size_t room_bytes,
                                              Running& running) const;
  Result<tensor::Tensor> ValueAt(const graph::Edge& edge, const Values& values) const;
  std::vector<bool> NeededFor(std::span<const size_t> wanted) const;

  graph::Graph graph_;
  std::vector<Plan> bodies_;                         // As in the graph.
  std::vector<const kernels::Kernel*> kernels_;      // By node; nullptr for what is fed or has a value.
  std::vector<std::vector<tensor::Tensor>> folded_;  // By node; empty for what is computed in a run.
  std::vector<bool> is_folded_;
  std::vector<size_t> order_;                  // The nodes that a run computes.
  std::vector<std::vector<int>> freed_after_;  // By node: whose outputs nobody needs afterwards.
};

}  // namespace longshore::engine::reference
