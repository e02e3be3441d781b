#include "tests/load/keys.h"

#include <gtest/gtest.h>

#include <set>

namespace longshore::load {
namespace {

TEST(Keys, OnceSendsEachKeyExactlyOnceAndThenNoMore) {
  Keys keys({.share = 1, .distinct = 100, .once = true});
  Arrivals random(1);
  std::set<KeyIndex> seen;
  for (int i = 0; i < 100; ++i) seen.insert(keys.Next(random).value());
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_TRUE(keys.exhausted());
  EXPECT_FALSE(keys.Next(random).has_value());
}

TEST(Keys, TheShareOfKeyedRequestsIsTheOneAskedFor) {
  Keys keys({.share = 0.3, .distinct = 10, .once = false});
  Arrivals random(2);
  int keyed = 0;
  for (int i = 0; i < 100'000; ++i) keyed += keys.Next(random).has_value() ? 1 : 0;
  EXPECT_NEAR(keyed, 30'000, 800);
}

TEST(Arrivals, GapsHaveTheMeanAndTheSpreadOfAPoissonProcess) {
  Arrivals arrivals(3);
  double sum = 0, squares = 0;
  constexpr int kCount = 200'000;
  for (int i = 0; i < kCount; ++i) {
    const double gap = std::chrono::duration<double>(arrivals.NextGap(1000)).count();
    sum += gap;
    squares += gap * gap;
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean, 1e-3, 2e-5);
  EXPECT_NEAR(squares / kCount - mean * mean, 1e-6, 5e-8);
}

}  // namespace
}  // namespace longshore::load
