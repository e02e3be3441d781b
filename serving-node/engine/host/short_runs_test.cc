#include "serving-node/engine/host/short_runs.h"

#include <gtest/gtest.h>

namespace longshore::engine::host {
namespace {

using std::chrono::microseconds;

TEST(ShortRuns, AreNotExpectedBeforeTheFirstRun) {
  const ShortRuns runs;
  EXPECT_FALSE(runs.AreLikely(0));
}

TEST(ShortRuns, AreExpectedForInputsUpToTheSizeOfAShortRun) {
  ShortRuns runs;
  runs.Note(400, microseconds(3));
  runs.Note(40, microseconds(3));
  EXPECT_TRUE(runs.AreLikely(0));
  EXPECT_TRUE(runs.AreLikely(400));
  EXPECT_FALSE(runs.AreLikely(401));
}

TEST(ShortRuns, AreNotExpectedFromTheSizeOfALongRunUntilAShortRunOfThatSize) {
  ShortRuns runs;
  runs.Note(400, microseconds(3));
  runs.Note(100, microseconds(300));
  EXPECT_FALSE(runs.AreLikely(400));
  EXPECT_FALSE(runs.AreLikely(100));
  EXPECT_TRUE(runs.AreLikely(99));
  runs.Note(100, microseconds(3));
  EXPECT_TRUE(runs.AreLikely(100));
}

}  // namespace
}  // namespace longshore::engine::host
