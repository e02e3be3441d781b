// Less common element-wise functions with one, two or three arguments.
#include <bit>
#include <cmath>
#include <type_traits>

#include "serving-node/engine/kernels/base/elementwise.h"
#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/math/families.h"
#include "serving-node/engine/kernels/math/special.h"

namespace longshore::engine::kernels::math {
namespace {

#define LONGSHORE_UNARY(Name, expression) \
  struct Name {                           \
    template <typename T>                 \
    T operator()(T x) const {             \
      return static_cast<T>(expression);  \
    }                                     \
  };
LONGSHORE_UNARY(Acos, std::acos(x))
LONGSHORE_UNARY(Acosh, std::acosh(x))
LONGSHORE_UNARY(Asin, std::asin(x))
LONGSHORE_UNARY(Asinh, std::asinh(x))
LONGSHORE_UNARY(Atanh, std::atanh(x))
LONGSHORE_UNARY(Cosh, std::cosh(x))
LONGSHORE_UNARY(Sinh, std::sinh(x))
LONGSHORE_UNARY(DigammaOf, Digamma(static_cast<double>(x)))
LONGSHORE_UNARY(ErfinvOf, InverseErf(static_cast<double>(x)))
LONGSHORE_UNARY(NdtriOf, NormalQuantile(static_cast<double>(x)))
LONGSHORE_UNARY(Invert, ~x)
#undef LONGSHORE_UNARY

struct Lgamma {
  template <typename T>
  T operator()(T x) const {
    int sign = 0;
    return static_cast<T>(lgamma_r(static_cast<double>(x), &sign));
  }
};

#define LONGSHORE_BINARY(Name, expression) \
  struct Name {                            \
    template <typename T>                  \
    T operator()(T x, T y) const {         \
      return static_cast<T>(expression);   \
    }                                      \
  };
// The results of Xdivy, Xlogy and Xlog1py are 0 if x is 0, even if y is not finite.
LONGSHORE_BINARY(Xdivy, x == 0 ? T{0} : x / y)
LONGSHORE_BINARY(Xlogy, x == 0 ? T{0} : x * std::log(y))
LONGSHORE_BINARY(Xlog1py, x == 0 ? T{0} : x * std::log1p(y))
LONGSHORE_BINARY(Igamma, LowerGamma(static_cast<double>(x), static_cast<double>(y)))
LONGSHORE_BINARY(Igammac, UpperGamma(static_cast<double>(x), static_cast<double>(y)))
LONGSHORE_BINARY(Zeta, HurwitzZeta(static_cast<double>(x), static_cast<double>(y)))
LONGSHORE_BINARY(PolygammaOf, Polygamma(static_cast<double>(x), static_cast<double>(y)))
LONGSHORE_BINARY(NextAfter, std::nextafter(x, y))
#undef LONGSHORE_BINARY

// Clamps a shift to [0, bits of T - 1], as TensorFlow does.
template <typename T>
int ShiftOf(T by) {
  constexpr T kMax = static_cast<T>(sizeof(T) * 8 - 1);
  return static_cast<int>(by < T{0} ? T{0} : by > kMax ? kMax : by);
}
struct LeftShift {
  template <typename T>
  T operator()(T x, T by) const {
    return static_cast<T>(static_cast<uint64_t>(x) << ShiftOf(by));
  }
};
struct RightShift {
  template <typename T>
  T operator()(T x, T by) const {
    return static_cast<T>(x >> ShiftOf(by));
  }
};

template <typename F>
Outputs Floats(const Call& call) {
  return ForFloats(call.in(0).type(), [&](auto tag) { return UnaryOf<typename decltype(tag)::type>(call, F{}); });
}
template <typename F>
Outputs FloatPairs(const Call& call) {
  return ForFloats(call.in(0).type(), [&](auto tag) { return BinaryOf<typename decltype(tag)::type>(call, F{}); });
}
template <typename F>
Outputs IntegerPairs(const Call& call) {
  return ForIntegers(call.in(0).type(), [&](auto tag) { return BinaryOf<typename decltype(tag)::type>(call, F{}); });
}

Outputs InvertOf(const Call& call) {
  return ForIntegers(call.in(0).type(),
                     [&](auto tag) { return UnaryOf<typename decltype(tag)::type>(call, Invert{}); });
}

Outputs PopulationCount(const Call& call) {
  return ForIntegers(call.in(0).type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return UnaryOf<T, uint8_t>(
        call, [](T x) { return static_cast<uint8_t>(std::popcount(static_cast<std::make_unsigned_t<T>>(x))); });
  });
}

// Requires equal shapes: this op does not broadcast.
Outputs ApproximateEqual(const Call& call) {
  if (call.in(0).shape() != call.in(1).shape())
    return InvalidArgument("inputs have different shapes: {} and {}", ToString(call.in(0).shape()),
                           ToString(call.in(1).shape()));
  const float tolerance = call.attributes().Float("tolerance", 1e-5F);
  return ForFloats(call.in(0).type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return BinaryOf<T, bool>(call, [tolerance](T x, T y) { return std::fabs(x - y) <= static_cast<T>(tolerance); });
  });
}

// Computes f(x, y, z) for each element of three tensors of one type. The tensors must have the same shape, but a scalar
// is combined with every element.
template <typename T, typename F>
Outputs TernaryOf(const Call& call, F f) {
  const Tensor* shaped = &call.in(0);
  for (const auto& input : call.inputs) {
    if (input.type() != call.in(0).type()) return WrongType(input.type());
    if (input.rank() > 0) shaped = shaped->rank() == 0 ? &input : shaped;
  }
  for (const auto& input : call.inputs) {
    if (input.rank() > 0 && input.shape() != shaped->shape())
      return InvalidArgument("inputs have different shapes: {} and {}", ToString(shaped->shape()),
                             ToString(input.shape()));
  }
  ASSIGN_OR_RETURN(Tensor out, MakeLike(*shaped, shaped->shape()));
  const auto at = [&](size_t k, int64_t i) { return Raw<T>(call.in(k))[call.in(k).rank() == 0 ? 0 : i]; };
  for (int64_t i = 0; i < out.elements(); ++i) Raw<T>(out)[i] = f(at(0, i), at(1, i), at(2, i));
  return One(out);
}

Outputs Betainc(const Call& call) {
  return ForFloats(call.in(0).type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return TernaryOf<T>(call, [](T a, T b, T x) {
      return static_cast<T>(IncompleteBeta(static_cast<double>(a), static_cast<double>(b), static_cast<double>(x)));
    });
  });
}

Outputs ClipByValue(const Call& call) {
  for (const size_t k : {1U, 2U}) {
    if (call.in(k).rank() > 0 && call.in(k).shape() != call.in(0).shape())
      return InvalidArgument("the limits must be scalars or have the shape {} of the input, but one has the shape {}",
                             ToString(call.in(0).shape()), ToString(call.in(k).shape()));
  }
  return ForNumbers(call.in(0).type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return TernaryOf<T>(call, [](T x, T low, T high) {
      const T below = high < x ? high : x;
      return below < low ? low : below;
    });
  });
}

constexpr Kernel kKernels[] = {
    {"Acos", AlsoShort<Floats<Acos>>, 1, kFloats | kShortFloats},
    {"Acosh", AlsoShort<Floats<Acosh>>, 1, kFloats | kShortFloats},
    {"ApproximateEqual", ApproximateEqual, 2, kFloats},
    {"Asin", AlsoShort<Floats<Asin>>, 1, kFloats | kShortFloats},
    {"Asinh", AlsoShort<Floats<Asinh>>, 1, kFloats | kShortFloats},
    {"Atanh", AlsoShort<Floats<Atanh>>, 1, kFloats | kShortFloats},
    {"Betainc", Betainc, 3, kFloats},
    {"ClipByValue", AlsoShort<ClipByValue>, 3, kNumbers | kShortFloats},
    {"Cosh", AlsoShort<Floats<Cosh>>, 1, kFloats | kShortFloats},
    {"Digamma", Floats<DigammaOf>, 1, kFloats},
    {"Erfinv", Floats<ErfinvOf>, 1, kFloats},
    {"Igamma", FloatPairs<Igamma>, 2, kFloats},
    {"Igammac", FloatPairs<Igammac>, 2, kFloats},
    {"Invert", InvertOf, 1, kIntegers},
    {"LeftShift", IntegerPairs<LeftShift>, 2, kIntegers},
    {"Lgamma", Floats<Lgamma>, 1, kFloats},
    {"Ndtri", Floats<NdtriOf>, 1, kFloats},
    {"NextAfter", FloatPairs<NextAfter>, 2, kFloats},
    {"Polygamma", FloatPairs<PolygammaOf>, 2, kFloats},
    {"PopulationCount", PopulationCount, 1, kIntegers},
    {"RightShift", IntegerPairs<RightShift>, 2, kIntegers},
    {"Sinh", AlsoShort<Floats<Sinh>>, 1, kFloats | kShortFloats},
    {"Xdivy", AlsoShort<FloatPairs<Xdivy>>, 2, kFloats | kShortFloats},
    {"Xlog1py", FloatPairs<Xlog1py>, 2, kFloats},
    {"Xlogy", AlsoShort<FloatPairs<Xlogy>>, 2, kFloats | kShortFloats},
    {"Zeta", FloatPairs<Zeta>, 2, kFloats},
};

}  // namespace

std::span<const Kernel> FunctionKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::math
