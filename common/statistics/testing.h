// The exact mean of an e-value, for tests.
#pragma once

#include <cmath>

#include "common/statistics/evalue.h"

namespace longshore::statistics {

inline double ProbabilityOf(int n, int events, double rate) {
  const double choose = std::exp(std::lgamma(n + 1) - std::lgamma(events + 1) - std::lgamma(n - events + 1));
  return choose * std::pow(rate, events) * std::pow(1 - rate, n - events);
}

// The mean of exp(log_e(block)) over all results of a block with these numbers of requests, if these are the true
// rates. It is computed, not simulated.
template <typename LogE>
double MeanOverResults(int candidates, int stables, double candidate_rate, double stable_rate, LogE log_e) {
  double mean = 0;
  for (int c = 0; c <= candidates; ++c) {
    for (int s = 0; s <= stables; ++s) {
      mean += ProbabilityOf(candidates, c, candidate_rate) * ProbabilityOf(stables, s, stable_rate) *
              std::exp(log_e(Block{candidates, c, stables, s}));
    }
  }
  return mean;
}

}  // namespace longshore::statistics
