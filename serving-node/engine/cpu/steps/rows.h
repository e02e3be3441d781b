// A result that is made row by row, of operands that may repeat over it.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <span>

#include "serving-node/engine/cpu/steps/step.h"

namespace longshore::engine::cpu {

// Where an operand lies beside the result.
struct Operand {
  ValueId id = 0;
  graph::Lies lies = graph::Lies::kWhole;
  int64_t count = 1;    // Its elements; of kBetween those of a row.
  int64_t repeats = 1;  // Of kBetween: of each row of it.

  // Whether each row of the result meets one element of it.
  bool is_number() const { return lies == graph::Lies::kNumber || lies == graph::Lies::kPerRow; }
};

// nullopt when it is broadcast in another way, or no static value of the type.
inline std::optional<Operand> OperandOf(const Value& value, DType type, const Value& out) {
  if (!value.is_static() || value.type.type != type) return std::nullopt;
  const auto lies = graph::LiesBeside(value.shape(), out.shape());
  if (!lies) return std::nullopt;
  if (*lies != graph::Lies::kBetween) return Operand{value.id, *lies, value.elements()};
  if (value.elements() == 0) return std::nullopt;
  const auto [of_operand, of_result] =
      std::mismatch(value.shape().rbegin(), value.shape().rend(), out.shape().rbegin());
  const auto size = std::accumulate(value.shape().rbegin(), of_operand, int64_t{1}, std::multiplies());
  return Operand{value.id, *lies, size, out.elements() / value.elements()};
}

// The result cut into blocks of one size, the last perhaps shorter, such that each operand lies whole beside each.
class Rows {
 public:
  Rows(const Shape& shape, std::span<const Operand> operands) : total_(tensor::ElementCount(shape).value_or(0)) {
    size_ = std::min(kBlock, total_);  // Where nothing repeats, whatever is a good block is a row.
    bool repeats = false;
    for (const Operand& operand : operands) {
      if (operand.lies == graph::Lies::kWhole || operand.lies == graph::Lies::kNumber) continue;
      // Products of the last axes: the smallest divides the others.
      const bool is_long = operand.lies == graph::Lies::kPerRow || operand.count > kBlock;
      const int64_t size = is_long ? shape.back() : operand.count;
      size_ = repeats ? std::min(size_, size) : size;
      repeats = true;
    }
    count_ = (total_ + size_ - 1) / size_;
  }

  // Of so many elements each. Requires: no operand but numbers and whole ones.
  Rows(int64_t total, int64_t size) : total_(total), size_(size), count_((total + size - 1) / size) {}

  // Of the last axis. Requires: it is not empty.
  explicit Rows(const Shape& shape) : total_(tensor::ElementCount(shape).value_or(0)), size_(shape.back()) {
    count_ = total_ / size_;
  }

  static constexpr int64_t kBlock = 4096;  // 16 KiB of floats: stays in the cache next to the processor.

  int64_t total() const { return total_; }
  int64_t count() const { return count_; }
  int64_t size() const { return size_; }
  int64_t size_of(int64_t row) const { return std::min(size_, total_ - row * size_); }

  template <typename T>
  const T* At(const Frame& frame, const Operand& operand, int64_t row) const {
    const T* data = frame.As<const T>(operand.id);
    switch (operand.lies) {
      case graph::Lies::kWhole: return data + row * size_;
      case graph::Lies::kRow: return data + row * size_ % operand.count;
      case graph::Lies::kPerRow: return data + row;
      case graph::Lies::kBetween: {
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
