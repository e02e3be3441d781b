// The programs of one graph, for the shapes that it has met.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "serving-node/engine/cpu/program.h"

namespace longshore::engine::cpu {

inline constexpr size_t kProgramsMax = 32;  // Of one graph; the one that was not used for longest goes.

// Thread-safe.
class Programs {
 public:
  struct Options {
    Program::Options program = {};
    // After so many different shapes one program that knows no shapes serves all that are new.
    size_t shapes_max = SIZE_MAX;
  };

  // `graph`, `bodies` and `weights` must outlive it. The graph's constants of products are those of `weights`.
  Programs(const graph::Graph& graph, std::span<const graph::Graph> bodies, Weights& weights, const Options& options)
      : graph_(graph), bodies_(bodies), weights_(weights), options_(options) {}

  // For what is fed; `wanted` as of Executable::Run; `bytes_max`: what a run may hold. One caller makes it, others that
  // want the same wait for it, and those that want another do not.
  std::shared_ptr<const Program> For(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                                     Resources& resources, size_t bytes_max) const;

  // One that no pass has changed for its shapes, for those who look. Not kept.
  std::unique_ptr<const Program> ForLooking(const std::map<std::string, Tensor>& fed, Resources& resources,
                                            size_t bytes_max) const;

  // Of constants that the graph holds, and of those that the programs have made of shapes.
  int64_t memory_bytes(reference::kernels::CountedBuffers* counted) const;

 private:
  struct Slot {
    std::once_flag made;
    std::shared_ptr<const Program> program;
  };
  struct Entry {
    std::vector<DType> types;   // In the order of the names.
    std::vector<Shape> shapes;  // None where the program knows none.
    std::vector<size_t> wanted;
    std::shared_ptr<Slot> slot;

    bool knows_shapes() const { return !shapes.empty(); }
    bool IsFor(const std::map<std::string, Tensor>& fed, std::span<const size_t> outputs) const;
  };
  // The program that is to serve, and whether it knows the shapes.
  std::pair<std::shared_ptr<Slot>, bool> SlotFor(const std::map<std::string, Tensor>& fed,
                                                 std::span<const size_t> wanted) const;

  const graph::Graph& graph_;
  const std::span<const graph::Graph> bodies_;
  Weights& weights_;
  const Options options_;
  mutable std::mutex mutex_;
  mutable std::list<Entry> entries_;  // The one that was used last comes first.
  mutable size_t shapes_met_ = 0;
};

}  // namespace longshore::engine::cpu
