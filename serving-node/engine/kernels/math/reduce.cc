// Kernels that reduce tensors along axes.
#include <cmath>
#include <limits>
#include <type_traits>

#include "serving-node/engine/kernels/base/broadcast.h"
#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/math/families.h"

namespace longshore::engine::kernels::math {
namespace {

// The type in which sums are computed: double for floats, and uint64_t for integers, because sums of integers must wrap
// around.
template <typename T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

struct Sum {
  template <typename T>
  static Wide<T> Start() {
    return 0;
  }
  template <typename T>
  static Wide<T> Step(Wide<T> so_far, T x) {
    return so_far + static_cast<Wide<T>>(x);
  }
  template <typename T>
  static T End(Wide<T> sum, int64_t) {
    return static_cast<T>(sum);
  }
};
struct Mean : Sum {
  template <typename T>
  static T End(Wide<T> sum, int64_t count) {
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(sum / static_cast<double>(count));
    if constexpr (std::is_integral_v<T>) {
      using Exact = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      return count == 0 ? T{0} : static_cast<T>(static_cast<Exact>(sum) / static_cast<Exact>(count));
    }
  }
};
struct EuclideanNorm {
  template <typename T>
  static double Start() {
    return 0;
  }
  template <typename T>
  static double Step(double so_far, T x) {
    return so_far + static_cast<double>(x) * static_cast<double>(x);
  }
  template <typename T>
  static T End(double sum, int64_t) {
    return static_cast<T>(std::sqrt(sum));
  }
};
struct Prod {
  template <typename T>
  static Wide<T> Start() {
    return 1;
  }
  template <typename T>
  static Wide<T> Step(Wide<T> so_far, T x) {
    return so_far * static_cast<Wide<T>>(x);
  }
  template <typename T>
  static T End(Wide<T> product, int64_t) {
    return static_cast<T>(product);
  }
};
// The maximum is NaN if any value is NaN. The maximum of no values is -inf, or the lowest value of an integer type.
struct Max {
  template <typename T>
  static T Start() {
    return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  }
  template <typename T>
  static T Step(T so_far, T x) {
    return so_far != so_far || x <= so_far ? so_far : x;
  }
  template <typename T>
  static T End(T largest, int64_t) {
    return largest;
  }
};
struct Min {
  template <typename T>
  static T Start() {
    return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  }
  template <typename T>
  static T Step(T so_far, T x) {
    return so_far != so_far || x >= so_far ? so_far : x;
  }
  template <typename T>
  static T End(T smallest, int64_t) {
    return smallest;
  }
};
struct All {
  template <typename T>
  static T Start() {
    return true;
  }
  template <typename T>
  static T Step(T so_far, T x) {
    return so_far && x;
  }
  template <typename T>
  static T End(T result, int64_t) {
    return result;
  }
};
struct Any : All {
  template <typename T>
  static T Start() {
    return false;
  }
  template <typename T>
  static T Step(T so_far, T x) {
    return so_far || x;
  }
};

struct Axes {
  Shape kept;  // The input's shape, but with size 1 for each reduced axis.
  Shape out_shape;
  int64_t count = 1;  // How many values of the input make up one result.
};

Result<Axes> AxesOf(const Call& call) {
  const Shape& shape = call.in(0).shape();
  ASSIGN_OR_RETURN(const Tensor flat, call.in(1).Reshaped({call.in(1).elements()}));
  ASSIGN_OR_RETURN(const auto given, IntsOf(flat, "axis"));
  std::vector<bool> reduced(shape.size());
  for (const int64_t value : given) {
    ASSIGN_OR_RETURN(const int axis, AxisOf(value, call.in(0).rank()));
    if (reduced[static_cast<size_t>(axis)]) return InvalidArgument("axis {} occurs twice", value);
    reduced[static_cast<size_t>(axis)] = true;
  }
  Axes axes{shape, {}, 1};
  const bool keep = call.attributes().Bool("keep_dims", false);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (reduced[i]) {
      axes.kept[i] = 1;
      axes.count *= shape[i];
    }
    if (keep || !reduced[i]) axes.out_shape.push_back(axes.kept[i]);
  }
  return axes;
}

template <typename F, typename T>
Outputs Reduce(const Call& call) {
  ASSIGN_OR_RETURN(const Axes axes, AxesOf(call));
  const Tensor& in = call.in(0);
  // Checked because any number of empty rows is a small input with a large result.
  RETURN_IF_ERROR(call.HasRoomFor(in.type(), axes.out_shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, axes.out_shape));
  using State = decltype(F::template Start<T>());
  // An array instead of a std::vector, because references to elements of vector<bool> are proxies.
  const auto states = std::make_unique<State[]>(static_cast<size_t>(out.elements()));
  std::fill_n(states.get(), out.elements(), F::template Start<T>());
  const std::array strides = {BroadcastStrides(axes.kept, in.shape())};
  const int64_t inner = in.rank() == 0 ? 0 : strides[0].back();
  ForEachRow(in.shape(), strides, [&](int64_t from, const std::array<int64_t, 1>& to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      State& state = states[static_cast<size_t>(to[0] + i * inner)];
      state = F::template Step<T>(state, Raw<T>(in)[from + i]);
    }
  });
  for (int64_t i = 0; i < out.elements(); ++i)
    Raw<T>(out)[i] = F::template End<T>(states[static_cast<size_t>(i)], axes.count);
  return One(std::move(out));
}

template <typename F>
Outputs Numbers(const Call& call) {
  return ForNumbers(call.in(0).type(), [&](auto tag) { return Reduce<F, typename decltype(tag)::type>(call); });
}

template <typename F>
Outputs Floats(const Call& call) {
  return ForFloats(call.in(0).type(), [&](auto tag) { return Reduce<F, typename decltype(tag)::type>(call); });
}

template <typename F>
Outputs Bools(const Call& call) {
  return call.in(0).type() == DType::kBool ? Reduce<F, bool>(call) : Outputs(WrongType(call.in(0).type()));
}

// The index of the largest value (or of the smallest, unless kIsMax), the first one of equal values. NaN is skipped. If
// every value is NaN or the worst number of the type, the index is 0.
template <bool kIsMax, typename T>
int64_t Best(const T* values, int64_t count, int64_t stride) {
  int64_t best = 0;
  T best_value = kIsMax ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  for (int64_t i = 0; i < count; ++i) {
    const T x = values[i * stride];
    if (kIsMax ? x <= best_value || x != x : x >= best_value || x != x) continue;
    best = i;
    best_value = x;
  }
  return best;
}

template <bool kIsMax>
Outputs ArgBest(const Call& call) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const int64_t given, IntOf(call.in(1), "dimension"));
  ASSIGN_OR_RETURN(const int axis, AxisOf(given, in.rank()));
  if (in.dim(axis) == 0) return InvalidArgument("Reduction axis {} is empty in shape {}", given, ToString(in.shape()));
  Shape shape = in.shape();
  shape.erase(shape.begin() + axis);
  const int64_t inner = Product(in.shape(), static_cast<size_t>(axis) + 1, in.shape().size());
  const bool is_short = call.attributes().Type("output_type", DType::kInt64) == DType::kInt32;
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(is_short ? DType::kInt32 : DType::kInt64, shape));
  return ForNumbers(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < out.elements(); ++i) {
      const T* first = Raw<T>(in) + i / inner * inner * in.dim(axis) + i % inner;
      const int64_t best = Best<kIsMax>(first, in.dim(axis), inner);
      if (is_short)
        Raw<int32_t>(out)[i] = static_cast<int32_t>(best);
      else
        Raw<int64_t>(out)[i] = best;
    }
    return One(out);
  });
}

constexpr Kernel kKernels[] = {
    {"All", Bools<All>, 2},
    {"Any", Bools<Any>, 2},
    {"ArgMax", AlsoShort<ArgBest<true>>, 2, kNumbers | kShortFloats},
    {"ArgMin", AlsoShort<ArgBest<false>>, 2, kNumbers | kShortFloats},
    {"EuclideanNorm", AlsoShort<Floats<EuclideanNorm>>, 2, kFloats | kShortFloats},
    {"Max", AlsoShort<Numbers<Max>>, 2, kNumbers | kShortFloats},
    {"Mean", AlsoShort<Numbers<Mean>>, 2, kNumbers | kShortFloats},
    {"Min", AlsoShort<Numbers<Min>>, 2, kNumbers | kShortFloats},
    {"Prod", AlsoShort<Numbers<Prod>>, 2, kNumbers | kShortFloats},
    {"Sum", AlsoShort<Numbers<Sum>>, 2, kNumbers | kShortFloats},
};

}  // namespace

std::span<const Kernel> ReduceKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::math
