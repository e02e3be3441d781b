// Functions of one number.
#include <cmath>
#include <type_traits>

#include "serving-node/engine/reference/kernels/elementwise.h"

namespace longshore::engine::reference::kernels {
namespace {

#define LONGSHORE_UNARY(Name, expression) \
  struct Name {                           \
    template <typename T>                 \
    T operator()(T x) const {             \
      return static_cast<T>(expression);  \
    }                                     \
  };
// Of integers, through unsigned numbers, for these wrap around.
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
LONGSHORE_UNARY(Sigmoid, x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)))
LONGSHORE_UNARY(Softplus, x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)))
LONGSHORE_UNARY(Softsign, x / (1 + std::fabs(x)))
LONGSHORE_UNARY(Elu, x < 0 ? std::expm1(x) : x)
LONGSHORE_UNARY(Selu,
                x < 0 ? T(1.7580993408473768599402175208123) * std::expm1(x) : T(1.0507009873554804934193349852946) * x)
// Comparisons are written so that NaN comes out as NaN.
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
    {"Neg", Numbers<Neg>, 1, kNumbers},
    {"Square", Numbers<Square>, 1, kNumbers},
    {"Abs", Numbers<Abs>, 1, kNumbers},
    {"Sign", Numbers<Sign>, 1, kNumbers},
    {"Round", Round, 1, kNumbers},
    {"Sqrt", Floats<Sqrt>, 1, kFloats},
    {"Rsqrt", Floats<Rsqrt>, 1, kFloats},
    {"Reciprocal", Floats<Reciprocal>, 1, kFloats},
    {"Inv", Floats<Reciprocal>, 1, kFloats},
    {"Exp", Floats<Exp>, 1, kFloats},
    {"Expm1", Floats<Expm1>, 1, kFloats},
    {"Log", Floats<Log>, 1, kFloats},
    {"Log1p", Floats<Log1p>, 1, kFloats},
    {"Sin", Floats<Sin>, 1, kFloats},
    {"Cos", Floats<Cos>, 1, kFloats},
    {"Tan", Floats<Tan>, 1, kFloats},
    {"Atan", Floats<Atan>, 1, kFloats},
    {"Tanh", Floats<Tanh>, 1, kFloats},
    {"Erf", Floats<Erf>, 1, kFloats},
    {"Erfc", Floats<Erfc>, 1, kFloats},
    {"Floor", Floats<Floor>, 1, kFloats},
    {"Ceil", Floats<Ceil>, 1, kFloats},
    {"Rint", Floats<Rint>, 1, kFloats},
    {"Sigmoid", Floats<Sigmoid>, 1, kFloats},
    {"Softplus", Floats<Softplus>, 1, kFloats},
    {"Softsign", Floats<Softsign>, 1, kFloats},
    {"Elu", Floats<Elu>, 1, kFloats},
    {"Selu", Floats<Selu>, 1, kFloats},
    {"Relu", Numbers<Relu>, 1, kNumbers},
    {"Relu6", Numbers<Relu6>, 1, kNumbers},
    {"LeakyRelu", LeakyRelu, 1, kFloats},
    {"IsNan", IsNan, 1, kFloats},
    {"IsInf", IsInf, 1, kFloats},
    {"IsFinite", IsFinite, 1, kFloats},
};

}  // namespace

std::span<const Kernel> UnaryKernels() { return kKernels; }

}  // namespace longshore::engine::reference::kernels
