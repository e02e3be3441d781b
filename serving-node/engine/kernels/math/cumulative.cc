// Cumulative sums, products and log-sum-exps along an axis.
#include <cmath>
#include <limits>
#include <type_traits>

#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/math/families.h"

namespace longshore::engine::kernels::math {
namespace {

// Integers wrap around, as in TensorFlow; they are added as unsigned, because in C++ only unsigned types wrap around.
struct Sum {
  template <typename T>
  static T Start() {
    return T{0};
  }
  template <typename T>
  static T Step(T so_far, T x) {
    if constexpr (std::is_floating_point_v<T>) return so_far + x;
    if constexpr (!std::is_floating_point_v<T>)
      return static_cast<T>(static_cast<uint64_t>(so_far) + static_cast<uint64_t>(x));
  }
};
struct Prod {
  template <typename T>
  static T Start() {
    return T{1};
  }
  template <typename T>
  static T Step(T so_far, T x) {
    if constexpr (std::is_floating_point_v<T>) return so_far * x;
    if constexpr (!std::is_floating_point_v<T>)
      return static_cast<T>(static_cast<uint64_t>(so_far) * static_cast<uint64_t>(x));
  }
};
// The log-sum-exp of no values is -inf. As in TensorFlow, a NaN among the values is replaced by the result of the
// values before it.
struct LogSumExp {
  template <typename T>
  static T Start() {
    return -std::numeric_limits<T>::infinity();
  }
  template <typename T>
  static T Step(T so_far, T x) {
    const T low = x < so_far ? x : so_far, high = so_far < x ? x : so_far;
    return std::isinf(high) ? high : std::log1p(std::exp(low - high)) + high;
  }
};

// The shape of the input as [rows, count, inner], where `count` is the size of the axis.
struct Layout {
  int64_t rows = 0;
  int64_t count = 0;
  int64_t inner = 0;
};

Result<Layout> LayoutOf(const Call& call) {
  const Shape& shape = call.in(0).shape();
  if (call.in(1).rank() != 0) return InvalidArgument("axis must be a scalar");
  ASSIGN_OR_RETURN(const int64_t given, IntOf(call.in(1), "axis"));
  ASSIGN_OR_RETURN(const int axis, AxisOf(given, call.in(0).rank()));
  const auto at = static_cast<size_t>(axis);
  if (call.in(0).elements() == 0) return Layout{};
  return Layout{Product(shape, 0, at), shape[at], Product(shape, at + 1, shape.size())};
}

template <typename F, typename T>
Outputs Cumulate(const Call& call, const Layout& layout) {
  ASSIGN_OR_RETURN(Tensor out, MakeLike(call.in(0), call.in(0).shape()));
  const bool exclusive = call.attributes().Bool("exclusive", false);
  const bool reverse = call.attributes().Bool("reverse", false);
  for (int64_t line = 0; line < layout.rows * layout.inner; ++line) {
    const int64_t first = line / layout.inner * layout.count * layout.inner + line % layout.inner;
    T so_far = F::template Start<T>();
    for (int64_t i = 0; i < layout.count; ++i) {
      const int64_t at = first + (reverse ? layout.count - 1 - i : i) * layout.inner;
      const T next = F::template Step<T>(so_far, Raw<T>(call.in(0))[at]);
      Raw<T>(out)[at] = exclusive ? so_far : next;
      so_far = next;
    }
  }
  return One(std::move(out));
}

template <typename F>
Outputs CumulateNumbers(const Call& call) {
  ASSIGN_OR_RETURN(const Layout layout, LayoutOf(call));
  return ForNumbers(call.in(0).type(),
                    [&](auto tag) { return Cumulate<F, typename decltype(tag)::type>(call, layout); });
}

template <typename F>
Outputs CumulateFloats(const Call& call) {
  ASSIGN_OR_RETURN(const Layout layout, LayoutOf(call));
  return ForFloats(call.in(0).type(),
                   [&](auto tag) { return Cumulate<F, typename decltype(tag)::type>(call, layout); });
}

constexpr Kernel kKernels[] = {
    {"Cumprod", AlsoShort<CumulateNumbers<Prod>>, 2, kNumbers | kShortFloats},
    {"Cumsum", AlsoShort<CumulateNumbers<Sum>>, 2, kNumbers | kShortFloats},
    {"CumulativeLogsumexp", AlsoShort<CumulateFloats<LogSumExp>>, 2, kFloats | kShortFloats},
};

}  // namespace

std::span<const Kernel> CumulativeKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::math
