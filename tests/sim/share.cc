#include "tests/sim/share.h"

#include <cmath>

namespace longshore::sim {
namespace {

// Returns the probability of at most `count` successes in `trials` trials if each succeeds with the probability
// `share`.
double AtMost(int count, int trials, double share) {
  double sum = 0;
  for (int i = 0; i <= count; ++i) {
    const double ways = std::lgamma(trials + 1) - std::lgamma(i + 1) - std::lgamma(trials - i + 1);
    sum += std::exp(ways + i * std::log(share) + (trials - i) * std::log1p(-share));
  }
  return sum;
}

}  // namespace

double Share::UpperBound() const {
  if (count == trials) return 1;
  double low = value();
  double high = 1;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (AtMost(count, trials, middle) > 0.05 ? low : high) = middle;
  }
  return high;
}

}  // namespace longshore::sim
