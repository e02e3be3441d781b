// A signature as the CPU engine runs it: programs for the shapes that it has met.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "serving-node/engine/cpu/program.h"
#include "serving-node/engine/reference/executable.h"

namespace longshore::engine::cpu {

inline constexpr size_t kProgramsMax = 32;  // Of one signature; the one that was not used for longest goes.

struct HowToRun {
  int threads = 1;                   // Of one run.
  std::set<std::string> passes_off;  // By graph::passes::Names.
};

class Compiled final : public reference::Executable {
 public:
  // Of a graph without bodies, every op of which has a kernel. Runs work in `memory`; constants of products move to
  // `weights`, which the signatures of a model share.
  Compiled(graph::Graph graph, HowToRun how, std::shared_ptr<RunMemory> memory, std::shared_ptr<Weights> weights);

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
  using ProgramPtr = std::shared_ptr<const Program>;
  // One run makes the program; others of these shapes wait for it, and those of other shapes do not.
  struct Slot {
    std::once_flag made;
    ProgramPtr program;
  };
  struct Entry {
    std::vector<Shape> shapes;
    std::vector<size_t> wanted;
    std::shared_ptr<Slot> slot;
  };
  std::shared_ptr<Slot> SlotFor(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted) const;
  ProgramPtr ProgramFor(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted, Resources& resources,
                        size_t memory_bytes_max) const;

  const HowToRun how_;
  const std::shared_ptr<RunMemory> memory_;
  const std::shared_ptr<Weights> weights_;
  PlanView passed_;  // What the passes left; no steps.
  graph::Graph graph_;
  mutable std::mutex mutex_;
  mutable std::list<Entry> entries_;  // The one that was used last comes first.
};

}  // namespace longshore::engine::cpu
