// Norms, products and checks of vectors and whole tensors, and ops that generate vectors.
#include <algorithm>
#include <cmath>

#include "serving-node/engine/kernels/base/broadcast.h"
#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/math/families.h"

namespace longshore::engine::kernels::math {
namespace {

// Returns half of the sum of the squares of all values.
Outputs L2Loss(const Call& call) {
  return ForFloats(call.in(0).type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    double sum = 0;
    for (const T x : call.in(0).values<T>()) sum += static_cast<double>(x) * static_cast<double>(x);
    return One(Tensor::Of<T>({}, {static_cast<T>(sum / 2)}));
  });
}

Outputs Cross(const Call& call) {
  const Tensor& a = call.in(0);
  const Tensor& b = call.in(1);
  if (a.type() != b.type() || a.shape() != b.shape() || a.rank() < 1)
    return InvalidArgument("inputs must be vectors of one type and shape, not {}{} and {}{}", DTypeName(a.type()),
                           ToString(a.shape()), DTypeName(b.type()), ToString(b.shape()));
  if (a.shape().back() != 3)
    return FailedPrecondition("inputs must be vectors of 3 numbers, not {}", ToString(a.shape()));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(a, a.shape()));
  return ForNumbers(a.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
    for (int64_t i = 0; i < a.elements(); ++i) {
      const int64_t first = i - i % 3, next = first + (i + 1) % 3, last = first + (i + 2) % 3;
      const auto x = [&](int64_t at) { return static_cast<Wide>(Raw<T>(a)[at]); };
      const auto y = [&](int64_t at) { return static_cast<Wide>(Raw<T>(b)[at]); };
      Raw<T>(out)[i] = static_cast<T>(x(next) * y(last) - x(last) * y(next));
    }
    return One(out);
  });
}

// The last value is set to exactly `stop`.
Outputs LinSpace(const Call& call) {
  const Tensor& start = call.in(0);
  const Tensor& stop = call.in(1);
  ASSIGN_OR_RETURN(const int64_t count, IntOf(call.in(2), "num"));
  if (start.rank() != 0 || stop.rank() != 0 || call.in(2).rank() != 0 || start.type() != stop.type())
    return InvalidArgument("start, stop and num must be scalars, start and stop of one type");
  if (count < 1) return InvalidArgument("Requires num > 0: {}", count);
  RETURN_IF_ERROR(call.HasRoomFor(start.type(), {count}));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(start, {count}));
  return ForFloats(start.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T first = *Raw<T>(start), last = *Raw<T>(stop);
    const T step = count == 1 ? T{0} : (last - first) / static_cast<T>(count - 1);
    for (int64_t i = 0; i < count; ++i) Raw<T>(out)[i] = first + step * static_cast<T>(i);
    if (count > 1) Raw<T>(out)[count - 1] = last;
    return One(out);
  });
}

Outputs InvertPermutation(const Call& call) {
  const Tensor& in = call.in(0);
  if (in.rank() != 1) return InvalidArgument("invert_permutation expects a vector, not {}", ToString(in.shape()));
  ASSIGN_OR_RETURN(const auto places, IntsOf(in, "x", tensor::kTensorBytesMax));
  std::vector<int64_t> inverse(places.size(), -1);
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0 || places[i] >= in.elements())
      return InvalidArgument("{} is not between 0 and {}", places[i], in.elements());
    int64_t& at = inverse[static_cast<size_t>(places[i])];
    if (at >= 0) return InvalidArgument("{} is duplicated in the input", places[i]);
    at = static_cast<int64_t>(i);
  }
  if (in.type() == DType::kInt64) return One(Tensor::Of<int64_t>(in.shape(), inverse));
  return One(Tensor::Of<int32_t>(in.shape(), {inverse.begin(), inverse.end()}));
}

Outputs CheckNumerics(const Call& call) {
  const std::string message = call.attributes().Text("message", "");
  return ForFloats(call.in(0).type(), [&](auto tag) -> Outputs {
    using T = typename decltype(tag)::type;
    const auto values = call.in(0).values<T>();
    const bool has_inf = std::ranges::any_of(values, [](T x) { return std::isinf(x); });
    const bool has_nan = std::ranges::any_of(values, [](T x) { return std::isnan(x); });
    if (!has_inf && !has_nan) return One(call.in(0));
    const char* what = has_inf && has_nan ? "Inf and NaN" : has_inf ? "Inf" : "NaN";
    return InvalidArgument("{} : Tensor had {} values", message, what);
  });
}

// Returns the tensor if its shape matches the attribute `shape`, in which -1 matches any size.
Outputs EnsureShape(const Call& call) {
  const auto* value = call.attributes().Find("shape");
  if (value == nullptr || value->shape().unknown_rank()) return One(call.in(0));
  Shape wanted;
  for (const auto& dim : value->shape().dim()) wanted.push_back(dim.size());
  const auto fits = [](int64_t size, int64_t want) { return want == -1 || size == want; };
  const Shape& shape = call.in(0).shape();
  if (std::ranges::equal(shape, wanted, fits)) return One(call.in(0));
  return InvalidArgument("Shape of tensor {} is not compatible with expected shape {}", ToString(shape),
                         ToString(wanted));
}

constexpr Kernel kKernels[] = {
    {"CheckNumerics", AlsoShort<CheckNumerics>, 1, kFloats | kShortFloats},
    {"CheckNumericsV2", AlsoShort<CheckNumerics>, 1, kFloats | kShortFloats},
    {"Cross", Cross, 2, kNumbers},
    {"EnsureShape", EnsureShape, 1},
    {"InvertPermutation", InvertPermutation, 1},
    {"L2Loss", AlsoShort<L2Loss>, 1, kFloats | kShortFloats},
    {"LinSpace", LinSpace, 3, kFloats},
};

}  // namespace

std::span<const Kernel> VectorKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::math
