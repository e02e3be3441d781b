#include "tests/seeds/seeds.h"

#include <cstdlib>
#include <iostream>
#include <random>

namespace longshore::seeds {

uint64_t First(uint64_t count) {
  const char* chosen = std::getenv("LONGSHORE_SEED");
  const uint64_t first = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : std::random_device()();
  std::cout << "seeds " << first << " to " << first + count - 1 << "; LONGSHORE_SEED=" << first << " repeats them"
            << std::endl;
  return first;
}

}  // namespace longshore::seeds
