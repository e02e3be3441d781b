// A cache of the programs of one graph, by input shapes.
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

// At least a quarter of the places are for programs that were used once, or not much of late; the least recently used
// of them is evicted. The other places are for the programs with the most uses. So a client with ever new shapes cannot
// evict the programs of others, and a program for a new shape that soon comes again is kept. Thread-safe.
class Programs {
 public:
  struct Options {
    Program::Options program = {};
    int parts_max = 1;  // Above 1: graphs may be cut.
    // After this many different shapes, one program for unknown shapes serves all new ones.
    size_t shapes_max = SIZE_MAX;
    size_t programs_max = 32;  // At least 4. While programs are being made, there may be more.
  };

  // `graph`, `bodies` and `weights` must outlive it. The constants of products in `graph` must be in `weights`.
  Programs(const graph::Graph& graph, std::span<const graph::Graph> bodies, Weights& weights, const Options& options)
      : graph_(graph), bodies_(bodies), weights_(weights), options_(options) {}

  // The most parts into which a graph is cut. The last part runs kernels where shapes are still unknown.
  static constexpr int kPartsMax = 8;
  // The most programs of a part behind a cut.
  static constexpr size_t kOfTailMax = 16;

  struct Made {
    std::unique_ptr<const Program> program;
    std::unique_ptr<const Programs> tail;  // The programs of the part behind program->cut(), if there is one.
  };
  struct Found {
    std::shared_ptr<const Made> made;
    bool planned = false;  // It did not exist yet: the caller made it, or waited until another caller made it.
  };
  // Returns the program for the fed types and shapes. `wanted` is as in Executable::Run; `bytes_max` is the memory
  // limit of a run. If the program does not exist yet, the first caller makes it and other callers for the same program
  // wait; callers for other programs do not.
  Found For(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted, Resources& resources,
            size_t bytes_max) const;

  // Returns the program for the fed types and shapes; nullptr if For would make it or wait for it.
  std::shared_ptr<const Made> IfMade(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted) const;

  // Returns the program that was used last. Ignores programs that are still being made; nullptr if no other exists.
  std::shared_ptr<const Made> Newest() const;

  // Makes a program without shape passes, for tracing: its steps are original nodes. It is not cached.
  std::unique_ptr<const Program> ForTracing(const std::map<std::string, Tensor>& fed, Resources& resources,
                                            size_t bytes_max) const;

  // The memory of the graph's constants and of the constants that programs computed from shapes.
  int64_t memory_bytes(kernels::CountedBuffers* counted) const;

 private:
  struct Slot {
    std::once_flag once;
    std::shared_ptr<const Made> made;
  };
  struct Entry {
    std::vector<DType> types;   // The types of the fed tensors, in the order of the tensors' names.
    std::vector<Shape> shapes;  // Their shapes, in the same order; empty if the program is for unknown shapes.
    std::vector<size_t> wanted;
    std::shared_ptr<Slot> slot;
    size_t uses = 1;  // Up to kUsesMax, and halved at the end of each age.

    bool knows_shapes() const { return !shapes.empty(); }
    bool IsFor(const std::map<std::string, Tensor>& fed, std::span<const size_t> outputs) const;
  };
  struct FoundSlot {
    std::shared_ptr<Slot> slot;
    bool knows_shapes = false;
    bool is_made = false;
  };
  static constexpr size_t kTrialPart = 4;
  static constexpr size_t kUsesMax = 64;
  static constexpr size_t kFindsOfAnAge = 4096;
  // The next four require that mutex_ is locked.
  // Returns the entry for these shapes, or else the one for unknown shapes; the end of entries_ if neither exists.
  std::list<Entry>::iterator Find(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted) const;
  // Counts a use of the entry. If more entries were then used more than once than have places, that with the fewest
  // uses counts as used once.
  void CountUse(std::list<Entry>::iterator entry) const;
  // Does not evict a program that is still being made, so that it is not made twice. Returns whether it evicted one.
  bool EvictOneUsedOnce() const;
  void Age() const;

  Made Make(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted, bool with_shapes,
            Resources& resources, size_t bytes_max) const;
  // The slot of the program to use.
  FoundSlot SlotFor(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted) const;

  const graph::Graph& graph_;
  const std::span<const graph::Graph> bodies_;
  Weights& weights_;
  const Options options_;
  mutable std::mutex mutex_;
  mutable std::list<Entry> entries_;  // The most recently used entry first.
  mutable size_t shapes_met_ = 0;
  mutable size_t finds_ = 0;  // In this age.
};

}  // namespace longshore::engine::cpu
