// A result that is made row by row, of operands that may repeat over it.
#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "serving-node/engine/cpu/steps/step.h"

namespace longshore::engine::cpu {

// Where an operand lies beside the result.
struct Operand {
  ValueId id = 0;
  graph::Lies lies = graph::Lies::kWhole;
  int64_t count = 1;  // Its elements.

  // Whether each row of the result meets one element of it.
  bool is_number() const { return lies == graph::Lies::kNumber || lies == graph::Lies::kPerRow; }
};

// nullopt when it is broadcast in another way, or no static value of the type.
inline std::optional<Operand> OperandOf(const Value& value, DType type, const Value& out) {
  if (!value.is_static() || value.type.type != type) return std::nullopt;
  const auto lies = graph::LiesBeside(value.shape(), out.shape());
  return lies ? std::optional(Operand{value.id, *lies, value.elements()}) : std::nullopt;
}

// The result cut into blocks of one size, the last perhaps shorter, such that each operand lies whole beside each.
class Rows {
 public:
  Rows(const Shape& shape, std::span<const Operand> operands) : total_(tensor::ElementCount(shape).value_or(0)) {
    size_ = std::min(kBlock, total_);  // Where nothing repeats, whatever is a good block is a row.
    bool repeats = false;
    for (const Operand& operand : operands) {
      if (operand.lies != graph::Lies::kPerRow && operand.lies != graph::Lies::kRow) continue;
      // Products of the last axes: the smallest divides the others.
      const bool is_long = operand.lies == graph::Lies::kPerRow || operand.count > kBlock;
      const int64_t size = is_long ? shape.back() : operand.count;
      size_ = repeats ? std::min(size_, size) : size;
      repeats = true;
    }
    count_ = (total_ + size_ - 1) / size_;
  }

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
      default: return data;
    }
  }

 private:
  static constexpr int64_t kBlock = 4096;  // 16 KiB of floats: stays in the cache next to the processor.

  int64_t total_ = 0;
  int64_t size_ = 1;
  int64_t count_ = 0;
};

}  // namespace longshore::engine::cpu
