// Makes inputs from other inputs; the same seed gives the same inputs.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace longshore::fuzz::driver {

class Mutator {
 public:
  // Requires: `corpus` is not empty. Next returns inputs of at most bytes_max bytes.
  Mutator(const std::vector<std::string>& corpus, uint32_t seed, size_t bytes_max)
      : corpus_(corpus), random_(seed), bytes_max_(bytes_max) {}

  // Returns a file of the corpus with one to eight changes: bits, bytes, numbers at their limits, and pieces that are
  // removed, duplicated or taken from another file.
  std::string Next();

 private:
  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  void Change(std::string* input);
  void SetNumber(std::string* input);
  void RepeatPiece(std::string* input);
  void TakeFromAnother(std::string* input);

  const std::vector<std::string>& corpus_;
  std::mt19937 random_;  // Used with %, because std distributions differ between standard libraries.
  const size_t bytes_max_;
};

}  // namespace longshore::fuzz::driver
