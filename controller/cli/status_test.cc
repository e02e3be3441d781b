#include "controller/cli/status.h"

#include <gtest/gtest.h>

namespace longshore::cli {
namespace {

using std::chrono::seconds;

TEST(RetriedFailure, EndsAWaitOnlyIfItLastsLongerThanThePauseBeforeTheNextTry) {
  const std::chrono::steady_clock::time_point start{seconds(100)};
  RetriedFailure failure(start);
  EXPECT_FALSE(failure.IsOver(true, start));
  EXPECT_FALSE(failure.IsOver(true, start + seconds(14)));
  EXPECT_FALSE(failure.IsOver(false, start + seconds(14))) << "the try succeeded";
  EXPECT_FALSE(failure.IsOver(true, start + seconds(28))) << "a second failure";
  EXPECT_TRUE(failure.IsOver(true, start + seconds(29)));
  EXPECT_FALSE(failure.IsOver(false, start + seconds(60)));
}

}  // namespace
}  // namespace longshore::cli
