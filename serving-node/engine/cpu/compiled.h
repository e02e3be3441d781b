// A signature as the CPU engine runs it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "serving-node/engine/cpu/programs.h"
#include "serving-node/engine/reference/executable.h"
#include "serving-node/engine/reference/kernels/bodies.h"
#include "serving-node/engine/reference/reference.h"

namespace longshore::engine::cpu {

struct HowToRun {
  int threads = 1;                            // Of one run.
  reference::kernels::RunLimits limits = {};  // Of one that loops or branches.
  std::set<std::string> passes_off = {};      // By graph::passes::Names.
  // That a step moves in a slice of a run, about half of a last cache.
  int64_t slice_bytes = int64_t{16} << 20;
  bool by_row = false;  // Slices are of one row whatever that costs: see LoadOptions::deterministic.
};

class Compiled final : public reference::Executable {
 public:
  // Of a graph every op of which has a kernel. Runs work in `memory`; constants of products move to `weights`, which
  // the signatures of a model share. `fold`: see reference::Fold.
  Compiled(graph::Graph graph, HowToRun how, std::shared_ptr<RunMemory> memory, std::shared_ptr<Weights> weights,
           const reference::Fold& fold = nullptr);

  Result<std::vector<Tensor>> Run(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                  Resources& resources, size_t memory_bytes_max) const override;
  Result<std::vector<Tensor>> Profile(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                      Resources& resources, size_t memory_bytes_max,
                                      RunProfile* profile) const override;
  Result<std::optional<reference::Origin>> FindNonFinite(const std::map<std::string, Tensor>& fed, Resources& resources,
                                                         size_t memory_bytes_max) const override;
  PlanView Explain(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                   Resources& resources) const override;
  int64_t memory_bytes(reference::kernels::CountedBuffers* counted) const override;

 private:
  class Bodies;
  class Profiling;
  class Looking;

  const HowToRun how_;
  const std::shared_ptr<RunMemory> memory_;
  const std::shared_ptr<Weights> weights_;
  PlanView passed_;  // What the passes left; no steps.
  std::vector<graph::passes::ShapePass> passes_;
  graph::Graph graph_;
  std::unique_ptr<Programs> programs_;
  std::vector<std::unique_ptr<Programs>> bodies_;  // As in the graph.
};

}  // namespace longshore::engine::cpu
