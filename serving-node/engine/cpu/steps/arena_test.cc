#include "serving-node/engine/cpu/steps/arena.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/seeds/seeds.h"

namespace longshore::engine::cpu {
namespace {

TEST(Arena, ValuesThatAreNotNeededAtTheSameTimeShareBytes) {
  const Lifetime values[] = {{100, 0, 1}, {100, 1, 2}, {100, 2, 3}};
  const ArenaPlan plan = PlanArena(values);
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
  EXPECT_NE(plan.offsets[0], plan.offsets[1]);
  EXPECT_EQ(plan.bytes, 256U);
}

TEST(Arena, IsEmptyWithoutValuesOrForEmptyValues) {
  EXPECT_EQ(PlanArena({}).bytes, 0U);
  const Lifetime empty[] = {{0, 0, 5}};
  EXPECT_EQ(PlanArena(empty).bytes, 0U);
}

TEST(Arena, ValuesThatAreNeededAtTheSameTimeDoNotOverlap) {
  constexpr uint64_t kPlans = 50;
  const uint64_t first_seed = seeds::First(kPlans);
  for (uint64_t seed = first_seed; seed < first_seed + kPlans; ++seed) {
    std::mt19937 random(seed);
    std::vector<Lifetime> values;
    for (int i = 0; i < 60; ++i) {
      const size_t first = random() % 40;
      values.push_back({random() % 1000, first, first + random() % 8});
    }
    const ArenaPlan plan = PlanArena(values);
    for (size_t a = 0; a < values.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % kAlignment, 0U);
      EXPECT_LE(plan.offsets[a] + values[a].bytes, plan.bytes) << "seed " << seed;
      for (size_t b = 0; b < a; ++b) {
        const bool apart = values[a].last < values[b].first || values[b].last < values[a].first;
        const bool beside = plan.offsets[a] + values[a].bytes <= plan.offsets[b] ||
                            plan.offsets[b] + values[b].bytes <= plan.offsets[a];
        EXPECT_TRUE(apart || beside) << "seed " << seed << ": " << a << " and " << b;
      }
    }
  }
}

}  // namespace
}  // namespace longshore::engine::cpu
