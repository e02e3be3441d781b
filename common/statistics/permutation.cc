#include "common/statistics/permutation.h"

#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "common/base/mix.h"

namespace longshore::statistics {
namespace {

// There are so many tries that a p-value at the limit has about this many extreme ones among them.
constexpr double kExtremeAtLimit = 4;
// A limit that would need more tries is never reached.
constexpr double kTriesMax = 1e7;

size_t RandomBelow(size_t end, uint64_t& state) { return (Mix64(state += kGolden64) >> 32) * end >> 32; }

// Moves a random choice of `count` values to the front, and returns their sum.
double SumOfChoice(size_t count, std::vector<double>& values, uint64_t& state) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    std::swap(values[i], values[i + RandomBelow(values.size() - i, state)]);
    sum += values[i];
  }
  return sum;
}

}  // namespace

double PermutationP(std::vector<double> values, const Permutations& permutations) {
  const auto chosen = static_cast<std::ptrdiff_t>(permutations.chosen);
  const double observed = std::accumulate(values.begin(), values.begin() + chosen, 0.0);
  const double total = std::accumulate(values.begin(), values.end(), 0.0);
  const auto size = [](double value) { return std::abs(value); };
  const double rounding = 1e-9 * std::transform_reduce(values.begin(), values.end(), 0.0, std::plus<>(), size);
  // A choice of more than half of the values is what a choice of fewer leaves over.
  const bool leaves = permutations.chosen > values.size() / 2;
  const size_t count = leaves ? values.size() - permutations.chosen : permutations.chosen;
  const double all_tries = std::ceil(kExtremeAtLimit / permutations.limit) - 1;
  if (all_tries > kTriesMax) return 1;
  uint64_t state = Scatter64(permutations.seed);
  double extreme = 0;
  for (double tries = 1; tries <= all_tries; ++tries) {
    const double sum = SumOfChoice(count, values, state);
    if ((leaves ? total - sum : sum) >= observed - rounding) ++extreme;
    if (1 + extreme > permutations.limit * (1 + all_tries)) return (1 + extreme) / (1 + tries);
  }
  return (1 + extreme) / (1 + all_tries);
}

}  // namespace longshore::statistics
