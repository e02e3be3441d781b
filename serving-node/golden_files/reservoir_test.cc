#include "serving-node/golden_files/reservoir.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace longshore::golden_files {
namespace {

using testing::ElementsAre;

std::vector<int> Draw(size_t size, uint64_t seed, int offered) {
  Reservoir<int> reservoir(size, seed);
  for (int i = 0; i < offered; ++i) reservoir.Offer(i);
  return reservoir.Take();
}

TEST(Reservoir, TakesAllIfThereAreNotMoreThanItDraws) {
  EXPECT_THAT(Draw(5, 1, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(Draw(3, 1, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(Draw(0, 1, 4), ElementsAre(0, 1, 2, 3));
}

TEST(Reservoir, KeepsTheOrderAndDependsOnTheSeedOnly) {
  const std::vector<int> drawn = Draw(10, 1, 100);
  EXPECT_EQ(drawn.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(drawn));
  EXPECT_EQ(Draw(10, 1, 100), drawn);
  EXPECT_NE(Draw(10, 2, 100), drawn);
}

TEST(Reservoir, DrawsEachValueEquallyOften) {
  std::vector<int> times(20);
  for (uint64_t seed = 0; seed < 40'000; ++seed) {
    for (const int value : Draw(5, seed, 20)) ++times[static_cast<size_t>(value)];
  }
  // Each value is expected 10,000 times; the standard deviation is 87.
  for (const int count : times) EXPECT_NEAR(count, 10'000, 5 * 87);
}

}  // namespace
}  // namespace longshore::golden_files
