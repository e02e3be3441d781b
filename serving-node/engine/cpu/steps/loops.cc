// Plain loops that the compiler vectorises: no calls and no branches inside. Approximations have an error of at most
// 2e-7, relative to the value or to 1. Their constants are from the Cephes library (S. Moshier), and those of erfc from
// the Chebyshev fit in Numerical Recipes (W. H. Press et al.), 6.2.
#include "serving-node/engine/cpu/steps/loops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#ifdef LONGSHORE_SANITIZER
#define LONGSHORE_LOOP  // No clones: the loader would choose one before the sanitizers are initialised.
#else
#define LONGSHORE_LOOP __attribute__((target_clones("avx512f", "arch=x86-64-v3", "default")))
#endif
#define LONGSHORE_INLINE inline __attribute__((always_inline))

namespace longshore::engine::cpu {
namespace {

// a * b + c with a single rounding. Calls the builtin explicitly, because the compiler would contract only the
// vectorised part of a loop, and the bits of a result would depend on its position. Below x86-64-v3 this is a slow
// library call.
LONGSHORE_INLINE float Fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// x * 2^n for -252 <= n <= 254; any n if x is NaN. Uses two factors so that neither exceeds the range of exponents.
LONGSHORE_INLINE float TimesPowerOfTwo(float x, int32_t n) {
  const int32_t half = n >> 1;
  const float first = std::bit_cast<float>((half + 127) << 23);
  const float second = std::bit_cast<float>((n - half + 127) << 23);
  return x * first * second;
}

LONGSHORE_INLINE float Exp(float x) {
  const float bounded = x > 90.0F ? 90.0F : (x < -105.0F ? -105.0F : x);
  // 1.5 * 2^23: adding a number to it rounds the number to an integer, which is then in the last bits of the sum.
  const float rounder = 12582912.0F;
  const float rounded = Fma(bounded, 1.44269504088896341F, rounder);
  const float n = rounded - rounder;
  const float rest = Fma(n, 2.12194440e-4F, Fma(n, -0.693359375F, bounded));
  float p = 1.9875691500e-4F;
  p = Fma(p, rest, 1.3981999507e-3F);
  p = Fma(p, rest, 8.3334519073e-3F);
  p = Fma(p, rest, 4.1665795894e-2F);
  p = Fma(p, rest, 1.6666665459e-1F);
  p = Fma(p, rest, 5.0000001201e-1F);
  const float value = Fma(p * rest, rest, rest) + 1.0F;
  return TimesPowerOfTwo(value, std::bit_cast<int32_t>(rounded) - std::bit_cast<int32_t>(rounder));
}

LONGSHORE_INLINE float Tanh(float x) {
  const float square = x * x;
  float p = -5.70498872745e-3F;
  p = Fma(p, square, 2.06390887954e-2F);
  p = Fma(p, square, -5.37397155531e-2F);
  p = Fma(p, square, 1.33314422036e-1F);
  p = Fma(p, square, -3.33332819422e-1F);
  const float small = Fma(p * square, x, x);
  const float size = std::fabs(x);
  const float large = 1.0F - 2.0F / (Exp(2.0F * size) + 1.0F);
  const float signed_large = x < 0.0F ? -large : large;
  return size < 0.625F ? small : signed_large;
}

LONGSHORE_INLINE float Sigmoid(float x) {
  const float e = Exp(-std::fabs(x));
  const float of_size = 1.0F / (1.0F + e);
  return x < 0.0F ? e * of_size : of_size;
}

// erf(x) for |x| < 0.5.
LONGSHORE_INLINE float ErfOfSmall(float x) {
  const float square = x * x;
  float p = -1.0F / 9360.0F;
  p = Fma(p, square, 1.0F / 1320.0F);
  p = Fma(p, square, -1.0F / 216.0F);
  p = Fma(p, square, 1.0F / 42.0F);
  p = Fma(p, square, -1.0F / 10.0F);
  p = Fma(p, square, 1.0F / 3.0F);
  return 1.1283791670955126F * Fma(x * square, -p, x);
}

// 1 - erf(|x|) with a relative error of at most 2e-7.
LONGSHORE_INLINE float ErfcOfSize(float x) {
  const float size = std::fabs(x);
  const float t = 1.0F / Fma(0.5F, size, 1.0F);
  float p = 0.17087277F;
  p = Fma(p, t, -0.82215223F);
  p = Fma(p, t, 1.48851587F);
  p = Fma(p, t, -1.13520398F);
  p = Fma(p, t, 0.27886807F);
  p = Fma(p, t, -0.18628806F);
  p = Fma(p, t, 0.09678418F);
  p = Fma(p, t, 0.37409196F);
  p = Fma(p, t, 1.00002368F);
  p = Fma(p, t, -1.26551223F);
  return t * Exp(Fma(-size, size, p));
}

LONGSHORE_INLINE float Erf(float x) {
  const float small = ErfOfSmall(x);
  const float large = 1.0F - ErfcOfSize(x);
  const float signed_large = x < 0.0F ? -large : large;
  return std::fabs(x) < 0.5F ? small : signed_large;
}

LONGSHORE_INLINE float Erfc(float x) {
  const float small = 1.0F - ErfOfSmall(x);
  const float of_size = ErfcOfSize(x);
  const float large = x < 0.0F ? 2.0F - of_size : of_size;
  return std::fabs(x) < 0.5F ? small : large;
}

// Uses erfc instead of 1 + erf, which would lose all digits for x far below 0.
LONGSHORE_INLINE float Gelu(float x) {
  const float half = 0.5F * ErfcOfSize(0.70710678118654752F * x);
  return x * (x < 0.0F ? half : 1.0F - half);
}

// x / 2 * (1 + tanh(y)) = x / (1 + exp(-2y)), 2y = sqrt(8 / pi) * (x + 0.044715 * x^3).
LONGSHORE_INLINE float GeluTanh(float x) {
  return x / (1.0F + Exp(-1.5957691216057308F * Fma(0.044715F * x * x, x, x)));
}

LONGSHORE_INLINE float Silu(float x) { return x / (1.0F + Exp(-x)); }

// The compiler clones each loop, with the functions inlined into it, for each instruction set.
#define LONGSHORE_UNARY(Name, expression)                                      \
  LONGSHORE_LOOP void Name##Loop(const float* in, float* out, int64_t count) { \
    for (int64_t i = 0; i < count; ++i) {                                      \
      const float x = in[i];                                                   \
      out[i] = (expression);                                                   \
    }                                                                          \
  }

LONGSHORE_UNARY(Abs, std::fabs(x))
LONGSHORE_UNARY(Elu, x < 0.0F ? Exp(x) - 1.0F : x)
LONGSHORE_UNARY(Erf, Erf(x))
LONGSHORE_UNARY(Erfc, Erfc(x))
LONGSHORE_UNARY(Exp, Exp(x))
LONGSHORE_UNARY(Gelu, Gelu(x))
LONGSHORE_UNARY(GeluTanh, GeluTanh(x))
LONGSHORE_UNARY(Neg, -x)
LONGSHORE_UNARY(Reciprocal, 1.0F / x)
LONGSHORE_UNARY(Relu, x < 0.0F ? 0.0F : x)
LONGSHORE_UNARY(Relu6, x < 0.0F ? 0.0F : (x > 6.0F ? 6.0F : x))
LONGSHORE_UNARY(Rsqrt, 1.0F / __builtin_sqrtf(x))
LONGSHORE_UNARY(Sigmoid, Sigmoid(x))
LONGSHORE_UNARY(Silu, Silu(x))
LONGSHORE_UNARY(Sqrt, __builtin_sqrtf(x))
LONGSHORE_UNARY(Square, x* x)
LONGSHORE_UNARY(Tanh, Tanh(x))

#define LONGSHORE_BINARY(Name, expression)                                                      \
  LONGSHORE_LOOP void Name##Both(const float* as, const float* bs, float* out, int64_t count) { \
    for (int64_t i = 0; i < count; ++i) {                                                       \
      const float a = as[i], b = bs[i];                                                         \
      out[i] = (expression);                                                                    \
    }                                                                                           \
  }                                                                                             \
  LONGSHORE_LOOP void Name##WithNumber(const float* as, float b, float* out, int64_t count) {   \
    for (int64_t i = 0; i < count; ++i) {                                                       \
      const float a = as[i];                                                                    \
      out[i] = (expression);                                                                    \
    }                                                                                           \
  }                                                                                             \
  LONGSHORE_LOOP void Name##OfNumber(float a, const float* bs, float* out, int64_t count) {     \
    for (int64_t i = 0; i < count; ++i) {                                                       \
      const float b = bs[i];                                                                    \
      out[i] = (expression);                                                                    \
    }                                                                                           \
  }                                                                                             \
  constexpr BinaryLoops k##Name = {Name##Both, Name##WithNumber, Name##OfNumber};

LONGSHORE_BINARY(Add, a + b)
LONGSHORE_BINARY(Div, a / b)
LONGSHORE_BINARY(Maximum, a != a ? a : (a < b || b != b) ? b : a)
LONGSHORE_BINARY(Minimum, a != a ? a : (b < a || b != b) ? b : a)
LONGSHORE_BINARY(Mul, a* b)
LONGSHORE_BINARY(SquaredDifference, (a - b) * (a - b))
LONGSHORE_BINARY(Sub, a - b)

constexpr int64_t kLanes = 16;
constexpr int64_t kFew = 1024;  // Longer sums are split in halves: the rounding error of one long sum would be large.

LONGSHORE_LOOP float SumOfFew(const float* in, int64_t count) {
  float lanes[kLanes] = {};
  const int64_t whole = count - count % kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += in[i + lane];
  }
  for (int64_t i = whole; i < count; ++i) lanes[i - whole] += in[i];
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

}  // namespace

UnaryLoop FindUnaryLoop(std::string_view op) {
  static const std::unordered_map<std::string_view, UnaryLoop> kLoops = {
      {"Abs", AbsLoop},     {"Elu", EluLoop},   {"Erf", ErfLoop},           {"Erfc", ErfcLoop},
      {"Exp", ExpLoop},     {"Gelu", GeluLoop}, {"GeluTanh", GeluTanhLoop}, {"Inv", ReciprocalLoop},
      {"Neg", NegLoop},     {"Relu", ReluLoop}, {"Relu6", Relu6Loop},       {"Reciprocal", ReciprocalLoop},
      {"Rsqrt", RsqrtLoop}, {"Sqrt", SqrtLoop}, {"Square", SquareLoop},     {"Sigmoid", SigmoidLoop},
      {"Silu", SiluLoop},   {"Tanh", TanhLoop}};
  const auto found = kLoops.find(op);
  return found == kLoops.end() ? nullptr : found->second;
}

const BinaryLoops* FindBinaryLoops(std::string_view op) {
  static const std::unordered_map<std::string_view, const BinaryLoops*> kLoops = {
      {"Add", &kAdd},         {"AddV2", &kAdd},   {"BiasAdd", &kAdd},
      {"Div", &kDiv},         {"RealDiv", &kDiv}, {"Maximum", &kMaximum},
      {"Minimum", &kMinimum}, {"Mul", &kMul},     {"SquaredDifference", &kSquaredDifference},
      {"Sub", &kSub}};
  const auto found = kLoops.find(op);
  return found == kLoops.end() ? nullptr : found->second;
}

float SumOf(const float* in, int64_t count) {
  if (count <= kFew) return SumOfFew(in, count);
  const int64_t half = count / 2 / kLanes * kLanes;
  return SumOf(in, half) + SumOf(in + half, count - half);
}

// The order does not matter for a maximum, so the compiler may vectorise it.
LONGSHORE_LOOP float MaxOf(const float* in, int64_t count) {
  float largest = -std::numeric_limits<float>::infinity();
  int32_t has_nan = 0;
#pragma omp simd reduction(max : largest) reduction(| : has_nan)
  for (int64_t i = 0; i < count; ++i) {
    largest = in[i] > largest ? in[i] : largest;
    has_nan |= in[i] != in[i] ? 1 : 0;
  }
  if (has_nan != 0) return std::numeric_limits<float>::quiet_NaN();
  // OpenMP lets a compiler begin each lane of the reduction with the lowest finite number, so that -inf is lost.
  if (count > 0 && largest == std::numeric_limits<float>::lowest()) return *std::max_element(in, in + count);
  return largest;
}

LONGSHORE_LOOP void ExpOf(const float* in, float shift, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = Exp(in[i] - shift);
}

LONGSHORE_LOOP void SelectOf(const uint8_t* condition, const Choice& yes, const Choice& no, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const float a = yes.values[i * yes.step], b = no.values[i * no.step];
    out[i] = condition[i] != 0 ? a : b;
  }
}

LONGSHORE_LOOP void NormalizedOf(const float* in, const Spread& spread, const float* gamma, const float* beta,
                                 float* out, int64_t count) {
  const float mean = spread.mean, factor = spread.factor;
  for (int64_t i = 0; i < count; ++i) out[i] = (in[i] - mean) * factor * gamma[i] + beta[i];
}

LONGSHORE_LOOP void SumColumns(const float* in, int64_t rows, int64_t columns, float factor, float* out) {
  constexpr int64_t kAtOnce = 64;
  for (int64_t first = 0; first < columns; first += kAtOnce) {
    const int64_t count = std::min(kAtOnce, columns - first);
    double sums[kAtOnce] = {};
    for (int64_t row = 0; row < rows; ++row) {
      const float* from = in + row * columns + first;
      for (int64_t i = 0; i < count; ++i) sums[i] += static_cast<double>(from[i]);
    }
    for (int64_t i = 0; i < count; ++i) out[first + i] = static_cast<float>(sums[i]) * factor;
  }
}

}  // namespace longshore::engine::cpu
