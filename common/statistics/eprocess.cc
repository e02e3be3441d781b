#include "common/statistics/eprocess.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace longshore::statistics {

void Multiply(EProcess& process, Mixture mixture, size_t alternative, double log_factor) {
  process.log_e.resize(mixture.size());
  process.log_e[alternative] += log_factor;
}

double LogE(const EProcess& process, Mixture mixture) {
  if (process.log_e.size() != mixture.size()) return 0;
  std::vector<WeightedLog> terms;
  terms.reserve(mixture.size());
  for (size_t i = 0; i < mixture.size(); ++i) terms.push_back({mixture[i].weight, process.log_e[i]});
  return LogWeightedMean(terms);
}

double LogWeightedMean(std::initializer_list<WeightedLog> terms) {
  return LogWeightedMean(std::span(terms.begin(), terms.size()));
}

double LogWeightedMean(std::span<const WeightedLog> terms) {
  double top = -std::numeric_limits<double>::infinity();
  double weights = 0;
  for (const auto& [weight, log] : terms) {
    if (weight > 0) top = std::max(top, log);
    weights += weight;
  }
  double sum = 0;
  for (const auto& [weight, log] : terms) sum += weight > 0 ? weight * std::exp(log - top) : 0;
  return top + std::log(sum / weights);
}

void ForgetGains(EProcess& process) {
  for (double& log_e : process.log_e) log_e = std::min(log_e, 0.0);
}

}  // namespace longshore::statistics
