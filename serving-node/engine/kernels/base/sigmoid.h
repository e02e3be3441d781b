#pragma once

#include <cmath>

namespace longshore::engine::kernels {

// 1 / (1 + e^-x), written so that the exponential never overflows.
struct Sigmoid {
  template <typename T>
  T operator()(T x) const {
    return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
  }
};

}  // namespace longshore::engine::kernels
