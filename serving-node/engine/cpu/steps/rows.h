// Blockwise computation of a result from operands that may be broadcast.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <span>

#include "serving-node/engine/cpu/steps/step.h"
#include "serving-node/graph/shapes.h"

namespace longshore::engine::cpu {

// An operand and how it is broadcast to the result.
struct Operand {
  ValueId id = 0;
  graph::BroadcastKind kind = graph::BroadcastKind::kFull;
  int64_t count = 1;    // The number of elements; for kMiddle, only in the axes behind the repeated ones.
  int64_t repeats = 1;  // For kMiddle: how often each part of `count` elements is repeated.

  // Whether a whole row of the result is combined with one element of the operand.
  bool is_number() const { return kind == graph::BroadcastKind::kScalar || kind == graph::BroadcastKind::kPerRow; }
};

// Returns nullopt if the value has another type or an unknown shape, or if BroadcastKind does not describe its
// broadcast.
inline std::optional<Operand> OperandOf(const Value& value, DType type, const Value& out) {
  if (!value.is_static() || value.type.type != type) return std::nullopt;
  const auto kind = graph::BroadcastKindOf(value.shape(), out.shape());
  if (!kind) return std::nullopt;
  if (*kind != graph::BroadcastKind::kMiddle) return Operand{value.id, *kind, value.elements()};
  if (value.elements() == 0) return std::nullopt;
  const auto [of_operand, of_result] =
      std::mismatch(value.shape().rbegin(), value.shape().rend(), out.shape().rbegin());
  const auto size = std::accumulate(value.shape().rbegin(), of_operand, int64_t{1}, std::multiplies());
  return Operand{value.id, *kind, size, out.elements() / value.elements()};
}

// Divides the result into blocks ("rows") of equal size, of which the last one may be shorter. Within a block each
// operand is contiguous or a single number.
class Rows {
 public:
  Rows(const Shape& shape, std::span<const Operand> operands) : total_(tensor::ElementCount(shape).value_or(0)) {
    size_ = std::min(kBlock, total_);  // The size if no operand is broadcast.
    bool repeats = false;
    for (const Operand& operand : operands) {
      if (operand.kind == graph::BroadcastKind::kFull || operand.kind == graph::BroadcastKind::kScalar) continue;
      // All of these sizes are products of trailing axes, so the smallest one divides the others.
      const bool is_long = operand.kind == graph::BroadcastKind::kPerRow || operand.count > kBlock;
      const int64_t size = is_long ? shape.back() : operand.count;
      size_ = repeats ? std::min(size_, size) : size;
      repeats = true;
    }
    count_ = (total_ + size_ - 1) / size_;
  }

  // Makes blocks of `size` elements. Requires: all operands are scalars or full-size.
  Rows(int64_t total, int64_t size) : total_(total), size_(size), count_((total + size - 1) / size) {}

  // Makes each row along the last axis a block. Requires: the last axis is not empty.
  explicit Rows(const Shape& shape) : total_(tensor::ElementCount(shape).value_or(0)), size_(shape.back()) {
    count_ = total_ / size_;
  }

  static constexpr int64_t kBlock = 4096;  // 16 KiB of floats: fits into the L1 cache.

  int64_t total() const { return total_; }
  int64_t count() const { return count_; }
  int64_t size() const { return size_; }
  int64_t size_of(int64_t row) const { return std::min(size_, total_ - row * size_); }

  template <typename T>
  const T* At(const Frame& frame, const Operand& operand, int64_t row) const {
    const T* data = frame.As<const T>(operand.id);
    switch (operand.kind) {
      case graph::BroadcastKind::kFull: return data + row * size_;
      case graph::BroadcastKind::kTrailing: return data + row * size_ % operand.count;
      case graph::BroadcastKind::kPerRow: return data + row;
      case graph::BroadcastKind::kMiddle: {
        const int64_t at = row * size_;
        return data + at / (operand.count * operand.repeats) * operand.count + at % operand.count;
      }
      default: return data;
    }
  }

 private:
  int64_t total_ = 0;
  int64_t size_ = 1;
  int64_t count_ = 0;
};

}  // namespace longshore::engine::cpu
