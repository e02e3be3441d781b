// The share of the simulated rollouts that ended in some way.
#pragma once

namespace longshore::sim {

// The share of `count` in `trials`.
struct Share {
  int count = 0;
  int trials = 0;

  double value() const { return static_cast<double>(count) / trials; }
  // The upper end of the one-sided 95 % confidence interval of the true share (Clopper and Pearson).
  double UpperBound() const;
};

}  // namespace longshore::sim
