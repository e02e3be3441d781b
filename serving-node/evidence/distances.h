// Distances: one pass over two outputs finds all that drift, the severity of a difference and the worst pairs need.
#pragma once

#include <optional>

#include "serving-node/tensor/tensor.h"

namespace longshore::evidence {

struct Distances {
  // These three are for real numbers. They leave out elements whose difference is not finite, such as those that both
  // versions mask with -Inf.
  double difference_max = 0;      // max|a-b|
  double magnitude_a = 0;         // max|a|
  double magnitude_b = 0;         // max|b|
  bool only_one_is_such = false;  // Some other difference is not that of two equal infinities or two NaN.
  // The share of the elements that are not equal, byte by byte, if they are not real numbers.
  std::optional<double> others{};

  bool are_equal() const { return difference_max == 0 && !only_one_is_such && others.value_or(0) == 0; }
  // From 0 to 1: max|a-b| / (max|a| + max|b|), and 1 if a value is Inf or NaN only in one of the two. For elements that
  // are not real numbers, `others`.
  double relative() const;
  // nullopt if the elements are not real numbers, or if a value is Inf or NaN only in one of the two.
  std::optional<double> absolute() const;
};

// Requires: equal types and shapes.
Distances DistancesOf(const tensor::Tensor& a, const tensor::Tensor& b);

}  // namespace longshore::evidence
