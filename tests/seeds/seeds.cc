#include "tests/seeds/seeds.h"

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string_view>
#include <system_error>

namespace longshore::seeds {
namespace {

uint64_t Parse(std::string_view text) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && end == text.data() + text.size()) return seed;
  std::cerr << "LONGSHORE_SEED: \"" << text << "\" is not a whole number from 0 to 2^64 - 1" << std::endl;
  std::abort();
}

}  // namespace

uint64_t First(uint64_t count) {
  const char* chosen = std::getenv("LONGSHORE_SEED");
  const uint64_t first = chosen != nullptr ? Parse(chosen) : std::random_device()();
  std::cout << "seeds " << first << " to " << first + count - 1 << "; LONGSHORE_SEED=" << first << " repeats them"
            << std::endl;
  return first;
}

}  // namespace longshore::seeds
