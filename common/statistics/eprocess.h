// Sequential tests as values: e-processes of a fixed mixture of alternatives.
//
// A test multiplies one factor per window into the product of each alternative. Each product is a test martingale, and
// so is their weighted mean, the e-value of the test. By Ville's inequality it ever reaches 1/alpha with a probability
// of at most alpha while the null hypothesis is true.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

namespace longshore::statistics {

// One alternative of a mixture. What `value` means depends on the test: an odds ratio, a probability or a bet.
struct Alternative {
  double value = 0;
  double weight = 0;  // The weights of a mixture add up to 1.
};
using Mixture = std::span<const Alternative>;

struct EProcess {
  std::vector<double> log_e;  // The logarithm of the product of each alternative; empty before the first window.

  friend bool operator==(const EProcess&, const EProcess&) = default;
};

// Multiplies a factor into the product of one alternative. Requires: alternative < mixture.size().
void Multiply(EProcess& process, Mixture mixture, size_t alternative, double log_factor);

// The logarithm of the e-value; 0 before the first window.
double LogE(const EProcess& process, Mixture mixture);

struct WeightedLog {
  double weight = 0;
  double log = 0;
};
// The logarithm of the weighted mean of e^log, without overflow. Requires: a positive sum of weights.
double LogWeightedMean(std::initializer_list<WeightedLog> terms);
double LogWeightedMean(std::span<const WeightedLog> terms);

// Takes back what the process has gained, but not what it has lost: the product of each alternative becomes at most 1.
// Used when the null hypothesis becomes larger, because the factors so far do not count against the larger one.
void ForgetGains(EProcess& process);

}  // namespace longshore::statistics
