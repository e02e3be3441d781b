// Element-wise functions with one argument.
#include <cmath>
#include <type_traits>

#include "serving-node/engine/kernels/base/elementwise.h"
#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/base/sigmoid.h"
#include "serving-node/engine/kernels/math/families.h"

namespace longshore::engine::kernels::math {
namespace {

#define LONGSHORE_UNARY(Name, expression) \
  struct Name {                           \
    template <typename T>                 \
    T operator()(T x) const {             \
      return static_cast<T>(expression);  \
    }                                     \
  };
// Integers are computed as unsigned numbers, because those wrap around.
LONGSHORE_UNARY(Neg, (std::is_floating_point_v<T> ? -x : static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x))))
LONGSHORE_UNARY(Square,
                (std::is_floating_point_v<T> ? x * x
                                             : static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x))))
struct Abs {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fabs(x);
    else
      return x < T{0} ? Neg{}(x) : x;
  }
};
LONGSHORE_UNARY(Sign, x != x ? x : static_cast<T>((T{0} < x) - (x < T{0})))
LONGSHORE_UNARY(Sqrt, std::sqrt(x))
LONGSHORE_UNARY(Rsqrt, T{1} / std::sqrt(x))
LONGSHORE_UNARY(Reciprocal, T{1} / x)
LONGSHORE_UNARY(Exp, std::exp(x))
LONGSHORE_UNARY(Expm1, std::expm1(x))
LONGSHORE_UNARY(Log, std::log(x))
LONGSHORE_UNARY(Log1p, std::log1p(x))
LONGSHORE_UNARY(Sin, std::sin(x))
LONGSHORE_UNARY(Cos, std::cos(x))
LONGSHORE_UNARY(Tan, std::tan(x))
LONGSHORE_UNARY(Atan, std::atan(x))
LONGSHORE_UNARY(Tanh, std::tanh(x))
LONGSHORE_UNARY(Erf, std::erf(x))
LONGSHORE_UNARY(Erfc, std::erfc(x))
LONGSHORE_UNARY(Floor, std::floor(x))
LONGSHORE_UNARY(Ceil, std::ceil(x))
LONGSHORE_UNARY(Rint, std::nearbyint(x))
LONGSHORE_UNARY(Softplus, x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)))
LONGSHORE_UNARY(Softsign, x / (1 + std::fabs(x)))
LONGSHORE_UNARY(Elu, x < 0 ? std::expm1(x) : x)
LONGSHORE_UNARY(Selu,
                x < 0 ? T(1.7580993408473768599402175208123) * std::expm1(x) : T(1.0507009873554804934193349852946) * x)
// If x is NaN, both comparisons are false, so the result is NaN.
LONGSHORE_UNARY(Relu, x < 0 ? T{0} : x)
LONGSHORE_UNARY(Relu6, x < 0 ? T{0} : (x > 6 ? T{6} : x))
#undef LONGSHORE_UNARY

template <typename F>
Outputs Floats(const Call& call) {
  return ForFloats(call.in(0).type(), [&](auto tag) { return UnaryOf<typename decltype(tag)::type>(call, F{}); });
}

template <typename F>
Outputs Numbers(const Call& call) {
  return ForNumbers(call.in(0).type(), [&](auto tag) { return UnaryOf<typename decltype(tag)::type>(call, F{}); });
}

Outputs Round(const Call& call) {
  const DType type = call.in(0).type();
  return type == DType::kFloat || type == DType::kDouble ? Floats<Rint>(call) : One(call.in(0));
}

Outputs LeakyRelu(const Call& call) {
  const float alpha = call.attributes().Float("alpha", 0.2F);
  return ForFloats(call.in(0).type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return UnaryOf<T>(call, [alpha](T x) { return x < 0 ? static_cast<T>(alpha) * x : x; });
  });
}

template <typename F>
Outputs Tests(const Call& call, F f) {
  return ForFloats(call.in(0).type(), [&](auto tag) { return UnaryOf<typename decltype(tag)::type, bool>(call, f); });
}
Outputs IsNan(const Call& call) {
  return Tests(call, [](auto x) { return x != x; });
}
Outputs IsInf(const Call& call) {
  return Tests(call, [](auto x) { return std::isinf(x); });
}
Outputs IsFinite(const Call& call) {
  return Tests(call, [](auto x) { return std::isfinite(x); });
}

constexpr Kernel kKernels[] = {
    {"Neg", AlsoShort<Numbers<Neg>>, 1, kNumbers | kShortFloats},
    {"Square", AlsoShort<Numbers<Square>>, 1, kNumbers | kShortFloats},
    {"Abs", AlsoShort<Numbers<Abs>>, 1, kNumbers | kShortFloats},
    {"Sign", AlsoShort<Numbers<Sign>>, 1, kNumbers | kShortFloats},
    {"Round", AlsoShort<Round>, 1, kNumbers | kShortFloats},
    {"Sqrt", AlsoShort<Floats<Sqrt>>, 1, kFloats | kShortFloats},
    {"Rsqrt", AlsoShort<Floats<Rsqrt>>, 1, kFloats | kShortFloats},
    {"Reciprocal", AlsoShort<Floats<Reciprocal>>, 1, kFloats | kShortFloats},
    {"Inv", AlsoShort<Floats<Reciprocal>>, 1, kFloats | kShortFloats},
    {"Exp", AlsoShort<Floats<Exp>>, 1, kFloats | kShortFloats},
    {"Expm1", AlsoShort<Floats<Expm1>>, 1, kFloats | kShortFloats},
    {"Log", AlsoShort<Floats<Log>>, 1, kFloats | kShortFloats},
    {"Log1p", AlsoShort<Floats<Log1p>>, 1, kFloats | kShortFloats},
    {"Sin", AlsoShort<Floats<Sin>>, 1, kFloats | kShortFloats},
    {"Cos", AlsoShort<Floats<Cos>>, 1, kFloats | kShortFloats},
    {"Tan", AlsoShort<Floats<Tan>>, 1, kFloats | kShortFloats},
    {"Atan", AlsoShort<Floats<Atan>>, 1, kFloats | kShortFloats},
    {"Tanh", AlsoShort<Floats<Tanh>>, 1, kFloats | kShortFloats},
    {"Erf", AlsoShort<Floats<Erf>>, 1, kFloats | kShortFloats},
    {"Erfc", AlsoShort<Floats<Erfc>>, 1, kFloats | kShortFloats},
    {"Floor", AlsoShort<Floats<Floor>>, 1, kFloats | kShortFloats},
    {"Ceil", AlsoShort<Floats<Ceil>>, 1, kFloats | kShortFloats},
    {"Rint", Floats<Rint>, 1, kFloats},
    {"Sigmoid", AlsoShort<Floats<Sigmoid>>, 1, kFloats | kShortFloats},
    {"Softplus", AlsoShort<Floats<Softplus>>, 1, kFloats | kShortFloats},
    {"Softsign", AlsoShort<Floats<Softsign>>, 1, kFloats | kShortFloats},
    {"Elu", AlsoShort<Floats<Elu>>, 1, kFloats | kShortFloats},
    {"Selu", AlsoShort<Floats<Selu>>, 1, kFloats | kShortFloats},
    {"Relu", AlsoShort<Numbers<Relu>>, 1, kNumbers | kShortFloats},
    {"Relu6", AlsoShort<Numbers<Relu6>>, 1, kNumbers | kShortFloats},
    {"LeakyRelu", AlsoShort<LeakyRelu>, 1, kFloats | kShortFloats},
    {"IsNan", AlsoShort<IsNan>, 1, kFloats | kShortFloats},
    {"IsInf", AlsoShort<IsInf>, 1, kFloats | kShortFloats},
    {"IsFinite", AlsoShort<IsFinite>, 1, kFloats | kShortFloats},
};

}  // namespace

std::span<const Kernel> UnaryKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::math
