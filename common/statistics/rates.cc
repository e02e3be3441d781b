#include "common/statistics/rates.h"

#include <algorithm>

namespace longshore::statistics {
namespace {

void MultiplyOdds(const Block& block, double stable_rate, Mixture odds, EProcess& process) {
  for (size_t i = 0; i < odds.size(); ++i) {
    Multiply(process, odds, i, LogEValue(block, WithOdds(stable_rate, odds[i].value), stable_rate));
  }
}

}  // namespace

void TestRates(const Block& block, double stable_rate, EProcess& process) {
  MultiplyOdds(block, stable_rate, kWorseOdds, process);
}

// LogEValue with a candidate rate below stable's is an e-value for the opposite null hypothesis: in its proof in
// evalue.h, f_c then falls with r_c.
void ProveRates(const Block& block, double stable_rate, EProcess& process) {
  MultiplyOdds(block, stable_rate, kBetterOdds, process);
}

double EstimateRate(int64_t events, int64_t requests) {
  return std::clamp((static_cast<double>(events) + 0.05) / (static_cast<double>(requests) + 5), 1e-7, 0.99);
}

}  // namespace longshore::statistics
