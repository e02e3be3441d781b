#include "serving-node/batching/run_times.h"

#include <gtest/gtest.h>

namespace longshore::batching {
namespace {

using std::chrono::milliseconds;

const TimePoint kNow{std::chrono::hours(1)};

TEST(RunTimes, KnowNothingBeforeARun) { EXPECT_EQ(RunTimes().AtLeast(1, kNow), Duration(0)); }

TEST(RunTimes, AreTheShortestOfTheLastOnes) {
  RunTimes times;
  for (const int took : {9, 5, 7}) times.Note(4, milliseconds(took), kNow);
  EXPECT_EQ(times.AtLeast(4, kNow), milliseconds(5));
  for (size_t i = 0; i < RunTimes::kKept; ++i) times.Note(4, milliseconds(8), kNow);
  EXPECT_EQ(times.AtLeast(4, kNow), milliseconds(8)) << "the model has become slower";
}

TEST(RunTimes, OfManyRowsAreAtLeastThoseOfFewer) {
  RunTimes times;
  times.Note(1, milliseconds(2), kNow);
  times.Note(64, milliseconds(30), kNow);
  EXPECT_EQ(times.AtLeast(16, kNow), milliseconds(2));
  EXPECT_EQ(times.AtLeast(64, kNow), milliseconds(30));
  EXPECT_EQ(times.AtLeast(100000, kNow), milliseconds(30));
}

TEST(RunTimes, AreForgotten) {
  RunTimes times;
  times.Note(1, milliseconds(2), kNow);
  EXPECT_EQ(times.AtLeast(1, kNow + RunTimes::kAgeMax), milliseconds(2));
  EXPECT_EQ(times.AtLeast(1, kNow + RunTimes::kAgeMax + milliseconds(1)), Duration(0));
}

}  // namespace
}  // namespace longshore::batching
