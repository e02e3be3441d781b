// The part of a graph behind a cut (cut.h).
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "serving-node/engine/cpu/cut.h"
#include "serving-node/engine/cpu/programs.h"

namespace longshore::engine::cpu {

// Thread-safe. `bodies`, `weights` and the passes of `options` must outlive it.
struct Tail {
  // How many different sets of shapes of a tail or of a body get a program of their own. Later sets share one program
  // for unknown shapes, because the part is then expected to get new shapes in every call. This number is higher than
  // the number of a batcher's buckets. It is lower than kProgramsMax, so that the programs for the first shapes are not
  // evicted.
  static constexpr size_t kShapesMax = 24;
  static_assert(kShapesMax < kProgramsMax);

  Tail(Cut from, std::span<const graph::Graph> bodies, Weights& weights, const Program::Options& options)
      : cut(std::move(from)),
        programs(cut.tail, bodies, weights, {.program = options, .shapes_max = kShapesMax}) {}

  // Returns what to feed to the tail: values of `fed`, which the graph was fed, and outputs of the head.
  std::map<std::string, Tensor> Feeds(const std::map<std::string, Tensor>& fed, std::span<const Tensor> of_head) const;

  // Returns the outputs of the graph, from those of its two parts.
  std::vector<Tensor> Outputs(std::span<const Tensor> of_head, std::span<const Tensor> of_tail) const;

  const Cut cut;
  const Programs programs;
};

}  // namespace longshore::engine::cpu
