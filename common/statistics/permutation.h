// A permutation test of two groups (R. A. Fisher, The Design of Experiments, 1935).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace longshore::statistics {

struct Permutations {
  size_t chosen = 0;  // The size of the first group: the first so many values.
  double limit = 0;   // The largest p-value of interest, above 0.
  uint64_t seed = 0;  // The same seed gives the same result.
};

// Returns the p-value of the hypothesis that the first group is a random choice of the values: the share of random
// choices of the same size whose sum is at least that of the group. The share is estimated as (1 + found) / (1 +
// tried), which is itself a valid p-value: B. Phipson, G. K. Smyth, "Permutation p-values should never be zero",
// Statistical Applications in Genetics and Molecular Biology 9 (2010). Stops trying when the p-value can no longer be
// at or below the limit; then the result is above the limit. Returns 1 if the limit is below 4e-7, because that
// would need too many choices. Otherwise there are about 4 / limit tries. Requires:
// chosen <= values.size() < 2^32.
double PermutationP(std::vector<double> values, const Permutations& permutations);

}  // namespace longshore::statistics
