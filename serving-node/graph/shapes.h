// How shapes are broadcast and combined.
#pragma once

#include <optional>

#include "serving-node/tensor/tensor.h"

namespace longshore::graph {

// Returns the shape of `a` and `b` broadcast together by NumPy's rules, with -1 for unknown sizes; nullopt if `a` and
// `b` do not fit.
std::optional<tensor::Shape> Broadcast(const tensor::Shape& a, const tensor::Shape& b);

// Returns the most specific shape that covers both `a` and `b`: -1 where the sizes differ, nullopt if the ranks differ.
std::optional<tensor::Shape> EitherShape(const std::optional<tensor::Shape>& a, const std::optional<tensor::Shape>& b);

// Whether the rank and all sizes are known.
bool IsWhole(const std::optional<tensor::Shape>& shape);

// Functions for sizes. Each returns -1 if an operand is -1 (unknown), and nullopt if the result overflows.
std::optional<int64_t> Times(int64_t a, int64_t b);
std::optional<int64_t> Plus(int64_t a, int64_t b);
// Returns nullopt if the division leaves a remainder.
std::optional<int64_t> DividedBy(int64_t a, int64_t b);

// The part of an axis that a StridedSlice takes with begin:end:step, as in Python.
struct AxisSlice {
  int64_t begin = 0;
  int64_t count = 0;
};
// `no_begin`, `no_end`: begin or end is left out, so it is an end of the axis. Returns nullopt if the step is zero.
// Requires: size >= 0.
std::optional<AxisSlice> SliceOfAxis(int64_t begin, int64_t end, int64_t step, bool no_begin, bool no_end,
                                     int64_t size);

// Returns the size that replaces the -1 in `wanted`, the new shape of a tensor of shape `given`; nullopt if there is
// none. Requires: no size in `given` is -1, and no size in `wanted` is less than -1.
std::optional<int64_t> InferredSize(const tensor::Shape& given, const tensor::Shape& wanted);

// How an operand of an element-wise op is broadcast to the result. Examples for a result of shape [2, 3, 4, 8]:
enum class BroadcastKind {
  kFull,      // Not broadcast: [2, 3, 4, 8].
  kScalar,    // One number: [] or [1, 1].
  kTrailing,  // The last axes, repeated for all others: [8] or [4, 8].
  kPerRow,    // One number for each row, a row being the last axis: [2, 3, 4, 1].
  kMiddle,    // Repeated over axes in the middle: [2, 1, 1, 8], a number for each channel of each image.
};
// Returns nullopt for every other kind of broadcast. Requires: `operand` broadcasts to `result`, no size is -1.
std::optional<BroadcastKind> BroadcastKindOf(const tensor::Shape& operand, const tensor::Shape& result);

}  // namespace longshore::graph
