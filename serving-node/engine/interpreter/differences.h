// For tests: finds where an answer differs from TensorFlow's answer.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "serving-node/engine/interpreter/one_op.h"
#include "serving-node/tensor/half.h"

namespace longshore::engine::interpreter {

// Whether the values differ by at most 1e-5 of `wanted`, plus an absolute tolerance of at most 1e-6, because values
// near zero may be sums of larger ones that cancel. NaN equals NaN, and 0 equals -0.
inline bool IsClose(double given, double wanted) {
  if (std::isnan(wanted) || std::isinf(wanted)) return std::isnan(wanted) ? std::isnan(given) : given == wanted;
  return std::fabs(given - wanted) <= 1e-5 * std::fabs(wanted) + 1e-6 * std::min(1.0, std::fabs(wanted) + 1e-3);
}

template <typename T>
std::string FirstDifference(const tensor::Tensor& given, const tensor::Tensor& wanted) {
  for (int64_t i = 0; i < wanted.elements(); ++i) {
    const T x = reinterpret_cast<const T*>(given.data())[i], y = reinterpret_cast<const T*>(wanted.data())[i];
    bool same = x == y;
    if constexpr (std::is_floating_point_v<T>) same = IsClose(static_cast<double>(x), static_cast<double>(y));
    if (!same) return fmt::format("at {}: {} instead of {}", i, x, y);
  }
  return "";
}

// For half and bfloat16, whose values must be equal. NaN equals NaN, and 0 equals -0.
inline std::string FirstDifferenceOfShort(const tensor::Tensor& given, const tensor::Tensor& wanted) {
  const auto widen = wanted.type() == tensor::DType::kHalf ? tensor::HalfToFloat : tensor::Bfloat16ToFloat;
  for (int64_t i = 0; i < wanted.elements(); ++i) {
    const float x = widen(reinterpret_cast<const uint16_t*>(given.data())[i]);
    const float y = widen(reinterpret_cast<const uint16_t*>(wanted.data())[i]);
    if (x != y && !(std::isnan(x) && std::isnan(y))) return fmt::format("at {}: {} instead of {}", i, x, y);
  }
  return "";
}

inline std::string Difference(const tensor::Tensor& given, const tensor::Tensor& wanted) {
  if (given.type() != wanted.type())
    return fmt::format("{} instead of {}", tensor::DTypeName(given.type()), tensor::DTypeName(wanted.type()));
  if (given.shape() != wanted.shape())
    return fmt::format("{} instead of {}", tensor::ToString(given.shape()), tensor::ToString(wanted.shape()));
  if (given.type() == tensor::DType::kFloat) return FirstDifference<float>(given, wanted);
  if (given.type() == tensor::DType::kDouble) return FirstDifference<double>(given, wanted);
  if (given.type() == tensor::DType::kHalf || given.type() == tensor::DType::kBfloat16)
    return FirstDifferenceOfShort(given, wanted);
  if (given.type() == tensor::DType::kString) return FirstDifference<std::string>(given, wanted);
  switch (tensor::ElementBytes(given.type())) {
    case 1: return FirstDifference<int8_t>(given, wanted);
    case 2: return FirstDifference<int16_t>(given, wanted);
    case 4: return FirstDifference<int32_t>(given, wanted);
    default: return FirstDifference<int64_t>(given, wanted);
  }
}

inline std::string FirstDifferenceOfAll(const std::vector<tensor::Tensor>& given, const Json& wanted) {
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string difference = Difference(given[i], TensorOf(wanted[i]));
    if (!difference.empty()) return fmt::format("output {} {}", i, difference);
  }
  return "";
}

}  // namespace longshore::engine::interpreter
