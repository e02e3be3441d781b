#include "controller/cli/text/interval_bar.h"

#include <gtest/gtest.h>

#include "controller/cli/text/table.h"

namespace longshore::cli::text {
namespace {

TEST(IntervalBar, ShowsTheIntervalBesideZeroAndTheLimit) {
  EXPECT_EQ(IntervalBar({.low = -0.5, .high = 0.25, .limit = 1}), "────────────━━━━━━━━━━━━0━━━━━━─────────────────┃");
  EXPECT_EQ(IntervalBar({.low = 1.5, .high = 2, .limit = 0.5}), "────────────────────────0─────┃───────────━━━━━━━");
}

TEST(IntervalBar, SaysWhereAnIntervalGoesOn) {
  EXPECT_EQ(IntervalBar({.low = -1, .high = 1, .limit = 0.005}), "◀━━━━━━━━━━━━━━━━━━━━━━━0━━━━━┃━━━━━━━━━━━━━━━━━▶");
}

TEST(IntervalBar, HasTheSameWidthForAllNumbers) {
  for (const Bounds& bounds :
       {Bounds{}, Bounds{.low = -2, .high = -1, .limit = 0}, Bounds{.low = 1e-12, .high = 1e12, .limit = 1}})
    EXPECT_EQ(DisplayWidth(IntervalBar(bounds)), kIntervalBarColumns);
}

}  // namespace
}  // namespace longshore::cli::text
