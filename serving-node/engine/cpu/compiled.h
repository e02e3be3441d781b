// A signature compiled for the CPU engine: its graph after the load passes, and a program for each set of input shapes.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "serving-node/engine/cpu/programs.h"
#include "serving-node/engine/host/host.h"
#include "serving-node/engine/interpreter/executable.h"
#include "serving-node/engine/kernels/base/bodies.h"

namespace longshore::engine::cpu {

struct ExecutionOptions {
  int threads = 1;                        // Threads of one run.
  kernels::RunLimits limits = {};         // Limits for runs with loops or branches.
  std::set<std::string> passes_off = {};  // The passes to skip, by their names in graph::passes::Names.
  // The most bytes that a step may read and write if a run is cut into slices: about half of a last-level cache.
  int64_t slice_bytes = int64_t{16} << 20;
  bool by_row = false;  // Slices have one row each, whatever the cost: see LoadOptions::deterministic.
};

class Compiled final : public interpreter::Executable {
 public:
  // Requires: every op of `graph` has a kernel. Runs take their buffers from `memory`. Constants of products move to
  // `weights`, which the signatures of a model share. `fold`: see host::Fold.
  Compiled(graph::Graph graph, ExecutionOptions options, std::shared_ptr<RunMemory> memory,
           std::shared_ptr<Weights> weights, const host::Fold& fold = nullptr);

  Result<std::vector<Tensor>> Run(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                  Resources& resources, size_t memory_bytes_max,
                                  bool* planned = nullptr) const override;
  bool IsPlanned(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted) const override;
  Result<std::vector<Tensor>> Profile(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                      Resources& resources, size_t memory_bytes_max,
                                      RunProfile* profile) const override;
  Result<std::optional<interpreter::Origin>> FindNonFinite(const std::map<std::string, Tensor>& fed,
                                                           Resources& resources,
                                                           size_t memory_bytes_max) const override;
  PlanView Explain(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                   Resources& resources) const override;
  int64_t memory_bytes(kernels::CountedBuffers* counted) const override;

 private:
  class Bodies;
  class Profiling;
  class Tracing;

  const ExecutionOptions options_;
  const std::shared_ptr<RunMemory> memory_;
  const std::shared_ptr<Weights> weights_;
  PlanView passed_;  // The node counts after each load pass; has no steps.
  std::vector<graph::passes::ShapePass> passes_;
  graph::Graph graph_;
  std::unique_ptr<Programs> programs_;
  std::vector<std::unique_ptr<Programs>> bodies_;  // The programs of each body, by its index in graph_.bodies.
};

}  // namespace longshore::engine::cpu
