// Plain loops that the compiler turns into vector code: no calls, no branches inside. Approximations are good to 2e-7
// of the value, or of one; their constants are those of the Cephes library (S. Moshier) and of Abramowitz and
// Stegun, 7.1.26.
#include "serving-node/engine/cpu/steps/loops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LONGSHORE_LOOP  // The sanitizers are not there yet when the loader chooses.
#else
#define LONGSHORE_LOOP __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#define LONGSHORE_INLINE inline __attribute__((always_inline))

namespace longshore::engine::cpu {
namespace {

// 2^n for -252 <= n <= 254, in two factors so that neither leaves the exponents there are.
LONGSHORE_INLINE float TimesPowerOfTwo(float x, int32_t n) {
  const int32_t half = n >> 1;
  const float first = std::bit_cast<float>((half + 127) << 23);
  const float second = std::bit_cast<float>((n - half + 127) << 23);
  return x * first * second;
}

LONGSHORE_INLINE float Exp(float x) {
  const float bounded = x > 90.0F ? 90.0F : (x < -105.0F ? -105.0F : x);
  const float rounder = 12582912.0F;  // 1.5 * 2^23: what is added to it has no fraction left.
  const float n = (bounded * 1.44269504088896341F + rounder) - rounder;
  const float rest = bounded - n * 0.693359375F + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * rest + 1.3981999507e-3F;
  p = p * rest + 8.3334519073e-3F;
  p = p * rest + 4.1665795894e-2F;
  p = p * rest + 1.6666665459e-1F;
  p = p * rest + 5.0000001201e-1F;
  const float value = p * rest * rest + rest + 1.0F;
  const float scaled = TimesPowerOfTwo(value, static_cast<int32_t>(n == n ? n : 0.0F));
  return x == x ? scaled : x;
}

LONGSHORE_INLINE float Tanh(float x) {
  const float square = x * x;
  float p = -5.70498872745e-3F;
  p = p * square + 2.06390887954e-2F;
  p = p * square - 5.37397155531e-2F;
  p = p * square + 1.33314422036e-1F;
  p = p * square - 3.33332819422e-1F;
  const float small = p * square * x + x;
  const float size = std::fabs(x);
  const float large = 1.0F - 2.0F / (Exp(2.0F * size) + 1.0F);
  const float signed_large = x < 0.0F ? -large : large;
  return size < 0.625F ? small : signed_large;
}

LONGSHORE_INLINE float Sigmoid(float x) {
  const float e = Exp(-std::fabs(x));
  const float of_size = 1.0F / (1.0F + e);
  const float value = x < 0.0F ? e * of_size : of_size;
  return x == x ? value : x;
}

LONGSHORE_INLINE float Erf(float x) {
  const float size = std::fabs(x);
  const float square = x * x;
  float p = -1.0F / 9360.0F;
  p = p * square + 1.0F / 1320.0F;
  p = p * square - 1.0F / 216.0F;
  p = p * square + 1.0F / 42.0F;
  p = p * square - 1.0F / 10.0F;
  p = p * square + 1.0F / 3.0F;
  const float small = 1.1283791670955126F * (x - x * square * p);
  const float t = 1.0F / (1.0F + 0.3275911F * size);
  float q = 1.061405429F;
  q = q * t - 1.453152027F;
  q = q * t + 1.421413741F;
  q = q * t - 0.284496736F;
  q = q * t + 0.254829592F;
  const float large = 1.0F - q * t * Exp(-square);
  const float signed_large = x < 0.0F ? -large : large;
  return size < 0.5F ? small : signed_large;
}

// The compiler clones the loops, and what is inlined into them, for each kind of processor.
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
LONGSHORE_UNARY(Exp, Exp(x))
LONGSHORE_UNARY(Neg, -x)
LONGSHORE_UNARY(Reciprocal, 1.0F / x)
LONGSHORE_UNARY(Relu, x < 0.0F ? 0.0F : x)
LONGSHORE_UNARY(Relu6, x < 0.0F ? 0.0F : (x > 6.0F ? 6.0F : x))
LONGSHORE_UNARY(Rsqrt, 1.0F / __builtin_sqrtf(x))
LONGSHORE_UNARY(Sigmoid, Sigmoid(x))
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

}  // namespace

UnaryLoop FindUnaryLoop(std::string_view op) {
  static const std::unordered_map<std::string_view, UnaryLoop> kLoops = {
      {"Abs", AbsLoop},         {"Elu", EluLoop},        {"Erf", ErfLoop},
      {"Exp", ExpLoop},         {"Inv", ReciprocalLoop}, {"Neg", NegLoop},
      {"Relu", ReluLoop},       {"Relu6", Relu6Loop},    {"Reciprocal", ReciprocalLoop},
      {"Rsqrt", RsqrtLoop},     {"Sqrt", SqrtLoop},      {"Square", SquareLoop},
      {"Sigmoid", SigmoidLoop}, {"Tanh", TanhLoop}};
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

LONGSHORE_LOOP float SumOf(const float* in, int64_t count) {
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

LONGSHORE_LOOP float MaxOf(const float* in, int64_t count) {
  float largest = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; ++i)
    largest = largest != largest ? largest : (in[i] > largest || in[i] != in[i]) ? in[i] : largest;
  return largest;
}

LONGSHORE_LOOP void ExpOf(const float* in, float shift, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = Exp(in[i] - shift);
}

LONGSHORE_LOOP void AddTo(float* sums, const float* in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sums[i] += in[i];
}

}  // namespace longshore::engine::cpu
