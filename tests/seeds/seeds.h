// Seeds for tests with random inputs. Each run draws new ones, so that more runs see more inputs.
#pragma once

#include <cstdint>

namespace longshore::seeds {

// The first of `count` consecutive seeds, which a test program prints. The environment variable LONGSHORE_SEED sets it,
// to repeat a failure.
uint64_t First(uint64_t count = 1);

}  // namespace longshore::seeds
