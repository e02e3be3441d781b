// Reductions over segments of rows.
#pragma once

#include <limits>
#include <type_traits>

#include "serving-node/engine/kernels/base/ints.h"
#include "serving-node/engine/kernels/base/types.h"

namespace longshore::engine::kernels::sparse::segments {

// Computes f(a, b). Integers wrap around; they are computed as unsigned, because in C++ only unsigned types wrap
// around.
template <typename T, typename F>
T Wrapped(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  else
    return f(a, b);
}

struct Sum {
  template <typename T>
  static constexpr T kEmpty = 0;
  template <typename T>
  static T Of(T a, T b) {
    return Wrapped(a, b, [](auto x, auto y) { return x + y; });
  }
};

struct Prod {
  template <typename T>
  static constexpr T kEmpty = 1;
  template <typename T>
  static T Of(T a, T b) {
    return Wrapped(a, b, [](auto x, auto y) { return x * y; });
  }
};

// As in TensorFlow, if the maximum so far (`a`) or the next value (`b`) is NaN, the result is the next value.
struct Max {
  template <typename T>
  static constexpr T kEmpty = std::numeric_limits<T>::lowest();
  template <typename T>
  static T Of(T a, T b) {
    return a > b ? a : b;
  }
};

struct Min {
  template <typename T>
  static constexpr T kEmpty = std::numeric_limits<T>::max();
  template <typename T>
  static T Of(T a, T b) {
    return a < b ? a : b;
  }
};

// Returns the shape of a tensor that has `rows` rows like those of `data`. A row of `data` has all dimensions but the
// first `leading` ones.
inline Shape RowsLike(const Tensor& data, size_t leading, int64_t rows) {
  Shape shape(data.shape().begin() + static_cast<std::ptrdiff_t>(leading), data.shape().end());
  shape.insert(shape.begin(), rows);
  return shape;
}

// InvalidArgument unless the ids never decrease and are in [0, limit).
inline Status CheckSorted(const std::vector<int64_t>& ids, int64_t limit) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= limit)
      return InvalidArgument("segment_ids[{}] = {} is out of range [0, {})", i, ids[i], limit);
    if (i > 0 && ids[i] < ids[i - 1]) return InvalidArgument("segment ids are not increasing at {}", i);
  }
  return {};
}

}  // namespace longshore::engine::kernels::sparse::segments
