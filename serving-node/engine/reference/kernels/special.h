// Special functions that the standard library has not, in double: correct to about 1e-10, the float kernels round them.
#pragma once

namespace longshore::engine::reference::kernels {

double Digamma(double x);

// The regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x). NaN unless a > 0 and x >= 0.
double LowerGamma(double a, double x);
double UpperGamma(double a, double x);

// The regularised incomplete beta function I_x(a, b). NaN outside of a > 0, b > 0, 0 <= x <= 1.
double IncompleteBeta(double a, double b, double x);

// Where the normal distribution reaches p: -inf at 0, inf at 1, NaN outside.
double NormalQuantile(double p);
double InverseErf(double x);

// Hurwitz' zeta, the sum of 1 / (k + q)^x over k >= 0, for x > 1.
double HurwitzZeta(double x, double q);
// The n-th derivative of Digamma, for a whole n >= 0.
double Polygamma(double n, double x);

}  // namespace longshore::engine::reference::kernels
