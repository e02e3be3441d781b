// The rows of an output, and its elements as numbers, whatever their type is.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "serving-node/tensor/half.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::evidence {

// Returns the number of rows: the size of the first dimension, or 1 without dimensions.
inline int64_t RowsOf(const tensor::Tensor& output) { return output.rank() == 0 ? 1 : output.dim(0); }

struct Half {
  uint16_t bits;
};
struct Bfloat16 {
  uint16_t bits;
};

template <typename T>
T NumberOf(T value) {
  return value;
}
inline float NumberOf(Half value) { return tensor::HalfToFloat(value.bits); }
inline float NumberOf(Bfloat16 value) { return tensor::Bfloat16ToFloat(value.bits); }

// Calls f(T()), where T is the type in which the elements are stored. Returns false if they are not real numbers.
template <typename F>
bool WithElements(tensor::DType type, F f) {
  switch (type) {
    case tensor::DType::kFloat: return f(float());
    case tensor::DType::kDouble: return f(double());
    case tensor::DType::kHalf: return f(Half());
    case tensor::DType::kBfloat16: return f(Bfloat16());
    case tensor::DType::kInt8:
    case tensor::DType::kQint8: return f(int8_t());
    case tensor::DType::kInt16:
    case tensor::DType::kQint16: return f(int16_t());
    case tensor::DType::kInt32:
    case tensor::DType::kQint32: return f(int32_t());
    case tensor::DType::kInt64: return f(int64_t());
    case tensor::DType::kBool:
    case tensor::DType::kUint8:
    case tensor::DType::kQuint8: return f(uint8_t());
    case tensor::DType::kUint16:
    case tensor::DType::kQuint16: return f(uint16_t());
    case tensor::DType::kUint32: return f(uint32_t());
    case tensor::DType::kUint64: return f(uint64_t());
    default: return false;
  }
}

// One row of an output, or a part of one.
template <typename T>
class Row {
 public:
  using Number = decltype(NumberOf(T()));

  Row(const tensor::Tensor& output, int64_t row) {
    const auto size = static_cast<size_t>(output.elements() / RowsOf(output));
    elements_ = {reinterpret_cast<const T*>(output.data()) + static_cast<size_t>(row) * size, size};
  }
  explicit Row(const tensor::Tensor& all_rows)
      : elements_(reinterpret_cast<const T*>(all_rows.data()), static_cast<size_t>(all_rows.elements())) {}
  Row Part(size_t begin, size_t size) const { return Row(elements_.subspan(begin, size)); }

  size_t size() const { return elements_.size(); }
  Number operator[](size_t i) const { return NumberOf(elements_[i]); }
  bool has_nan() const {
    if constexpr (!std::floating_point<Number>) return false;
    return std::ranges::any_of(elements_, [](T value) { return NumberOf(value) != NumberOf(value); });
  }

 private:
  explicit Row(std::span<const T> elements) : elements_(elements) {}

  std::span<const T> elements_;
};

template <typename Number>
double Distance(Number a, Number b) {
  if constexpr (std::floating_point<Number>) {
    return std::abs(static_cast<double>(a) - static_cast<double>(b));
  } else {
    using Unsigned = std::make_unsigned_t<Number>;
    return static_cast<double>(a > b ? static_cast<Unsigned>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b))
                                     : static_cast<Unsigned>(static_cast<Unsigned>(b) - static_cast<Unsigned>(a)));
  }
}

}  // namespace longshore::evidence
