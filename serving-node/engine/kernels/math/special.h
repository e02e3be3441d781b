// Special functions that the standard library does not have, in double. They are correct to about 1e-10; float kernels
// round the results.
#pragma once

namespace longshore::engine::kernels::math {

double Digamma(double x);

// The regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x). NaN unless a > 0 and x >= 0.
double LowerGamma(double a, double x);
double UpperGamma(double a, double x);

// The regularised incomplete beta function I_x(a, b). NaN outside of a > 0, b > 0, 0 <= x <= 1.
double IncompleteBeta(double a, double b, double x);

// The inverse of the cumulative distribution function of the standard normal distribution: -inf at 0, inf at 1, NaN
// outside [0, 1].
double NormalQuantile(double p);
// The inverse of erf: -inf at -1, inf at 1, NaN outside [-1, 1].
double InverseErf(double x);

// Hurwitz' zeta function: the sum of 1 / (k + q)^x over k >= 0, for x > 1.
double HurwitzZeta(double x, double q);
// The n-th derivative of Digamma, for an integer n >= 0.
double Polygamma(double n, double x);

}  // namespace longshore::engine::kernels::math
