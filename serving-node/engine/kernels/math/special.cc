#include "serving-node/engine/kernels/math/special.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace longshore::engine::kernels::math {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kTiny = 1e-300;
constexpr double kPrecision = 1e-16;
constexpr int kStepsMax = 100'000;  // The limit of iterations: far more than any series or fraction below needs.

// Uses lgamma_r, because std::lgamma writes to a global variable and so is not thread-safe.
double LogGamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

// Returns x^a * e^-x / Gamma(a).
double GammaFactor(double a, double x) { return std::exp(a * std::log(x) - x - LogGamma(a)); }

// P(a, x) as a series, for x < a + 1. See 8.11.4 in DLMF, NIST's Digital Library of Mathematical Functions.
double LowerGammaSeries(double a, double x) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < kStepsMax && std::fabs(term) > std::fabs(sum) * kPrecision; ++n) sum += term *= x / (a + n);
  return sum * GammaFactor(a, x);
}

// A continued fraction b0 + a1 / (b1 + a2 / (b2 + ...)), evaluated by Lentz's method.
class Fraction {
 public:
  explicit Fraction(double b0) : value_(b0 == 0 ? kTiny : b0), c_(value_) {}
  // Adds the next a and b of the fraction. Returns false if the value has converged.
  bool Add(double a, double b) {
    d_ = b + a * d_;
    c_ = b + a / c_;
    if (d_ == 0) d_ = kTiny;
    if (c_ == 0) c_ = kTiny;
    d_ = 1 / d_;
    value_ *= c_ * d_;
    return std::fabs(c_ * d_ - 1) > kPrecision;
  }
  double value() const { return value_; }

 private:
  double value_, c_, d_ = 0;
};

// Q(a, x) as a continued fraction, for x >= a + 1. See DLMF 8.9.2.
double UpperGammaFraction(double a, double x) {
  Fraction fraction(x + 1 - a);
  for (int n = 1; n < kStepsMax && fraction.Add(-n * (n - a), x + 2 * n + 1 - a); ++n) continue;
  return GammaFactor(a, x) / fraction.value();
}

// The continued fraction of the incomplete beta function. See DLMF 8.17.22.
double BetaFraction(double a, double b, double x) {
  Fraction fraction(1);
  for (int m = 0; m < kStepsMax; ++m) {
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    const double even = (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2));
    fraction.Add(odd, 1);
    if (!fraction.Add(even, 1)) break;
  }
  return 1 / fraction.value();
}

}  // namespace

// Reduces a negative x to a positive one by reflection, and a small x to one of at least 10 by recurrence; then uses
// the asymptotic series.
double Digamma(double x) {
  if (x <= 0 && x == std::floor(x)) return kNan;
  if (x < 0) return Digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * x);
  double moved = 0;
  for (; x < 10; ++x) moved -= 1 / x;
  if (std::isinf(x)) return x;
  const double y = 1 / (x * x);
  const double series = y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y / 132))));
  return moved + std::log(x) - 0.5 / x - series;
}

double LowerGamma(double a, double x) {
  if (!(a > 0) || !(x >= 0)) return kNan;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  if (x == 0) return 0;
  if (std::isinf(x)) return 1;
  return x < a + 1 ? LowerGammaSeries(a, x) : 1 - UpperGammaFraction(a, x);
}

double UpperGamma(double a, double x) {
  if (!(a > 0) || !(x >= 0)) return kNan;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 1;
  if (x == 0) return 1;
  if (std::isinf(x)) return 0;
  return x < a + 1 ? 1 - LowerGammaSeries(a, x) : UpperGammaFraction(a, x);
}

double IncompleteBeta(double a, double b, double x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1) || std::isinf(a) || std::isinf(b)) return kNan;
  if (x == 0 || x == 1) return x;
  const double front = std::exp(a * std::log(x) + b * std::log1p(-x) + LogGamma(a + b) - LogGamma(a) - LogGamma(b));
  if (x < (a + 1) / (a + b + 2)) return front / a * BetaFraction(a, b, x);
  return 1 - front / b * BetaFraction(b, a, 1 - x);
}

// Solves log Phi(x) = log p by Newton's method. log Phi is concave, so the iteration converges even far in the tail.
double NormalQuantile(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0 || p == 1) return p == 0 ? -kInf : kInf;
  if (p > 0.5) return -NormalQuantile(1 - p);
  double x = -std::sqrt(-2 * std::log(p));
  for (int i = 0; i < 100; ++i) {
    const double reached = 0.5 * std::erfc(-x / std::numbers::sqrt2);
    const double density = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    const double step = std::log(reached / p) * reached / density;
    x -= step;
    if (std::fabs(step) <= kPrecision * std::fabs(x) + kPrecision) break;
  }
  return x;
}

double InverseErf(double x) {
  if (!(std::fabs(x) < 0.5)) return NormalQuantile((1 + x) / 2) / std::numbers::sqrt2;
  double y = x * std::sqrt(std::numbers::pi) / 2;
  for (int i = 0; i < 20; ++i) y -= (std::erf(y) - x) * std::sqrt(std::numbers::pi) / 2 * std::exp(y * y);
  return y;
}

// Uses the Euler-Maclaurin formula: the sum of the first terms, an integral, and a correction with Bernoulli numbers.
double HurwitzZeta(double x, double q) {
  if (x == 1) return kInf;
  if (!(x > 1) || (q <= 0 && x != std::floor(x))) return kNan;
  if (q <= 0 && q == std::floor(q)) return kInf;
  constexpr int kTerms = 12;
  constexpr std::array kBernoulli = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6};
  double sum = 0;
  int terms = 0;
  for (; terms < kTerms || q + terms < 9; ++terms) {
    sum += std::pow(q + terms, -x);
    if (terms > kStepsMax) return kNan;
  }
  const double at = q + terms;
  sum += std::pow(at, 1 - x) / (x - 1) + 0.5 * std::pow(at, -x);
  double factor = x * std::pow(at, -x - 1) / 2;
  for (size_t k = 0; k < kBernoulli.size(); ++k) {
    sum += kBernoulli[k] * factor;
    const double n = 2 * static_cast<double>(k) + 1;
    factor *= (x + n) * (x + n + 1) / (at * at * (n + 2) * (n + 3));
  }
  return sum;
}

double Polygamma(double n, double x) {
  if (n == 0) return Digamma(x);
  if (!(n > 0) || n != std::floor(n)) return kNan;
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::exp(LogGamma(n + 1)) * HurwitzZeta(n + 1, x);
}

}  // namespace longshore::engine::kernels::math
