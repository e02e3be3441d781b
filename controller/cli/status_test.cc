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

TEST(IsOver, ARetriedFailureLastsOnlyWhileAControllerRetriesIt) {
  const std::chrono::steady_clock::time_point start{seconds(100)};
  const WaitSight failed{.has_controller = true, .standing = text::Standing::kFailed, .has_failed_for_good = false};
  const WaitSight absent{.has_controller = false, .standing = text::Standing::kFailed, .has_failed_for_good = false};
  RetriedFailure failure(start);
  EXPECT_FALSE(IsOver(failed, start, failure));
  EXPECT_FALSE(IsOver(absent, start + seconds(1), failure));
  EXPECT_FALSE(IsOver(absent, start + seconds(17), failure));
  EXPECT_FALSE(IsOver(failed, start + seconds(18), failure)) << "the controller has not tried it again yet";
  EXPECT_TRUE(IsOver(failed, start + seconds(33), failure));
}

TEST(IsOver, NothingUnderWayOrAFailureForGoodEndsAWaitAtOnceIfThereIsAController) {
  const std::chrono::steady_clock::time_point start{seconds(100)};
  RetriedFailure failure(start);
  for (const bool there : {true, false}) {
    EXPECT_EQ(IsOver({there, text::Standing::kAsWanted, false}, start, failure), there);
    EXPECT_EQ(IsOver({there, text::Standing::kFailed, true}, start, failure), there);
    EXPECT_FALSE(IsOver({there, text::Standing::kUnderWay, false}, start, failure));
  }
}

}  // namespace
}  // namespace longshore::cli
