#include "serving-node/batching/forecast.h"

#include <gtest/gtest.h>

namespace longshore::batching {
namespace {

using std::chrono::milliseconds;

const TimePoint kNow{std::chrono::hours(1)};
const std::string kSignature = "serving_default";

class ForecastTest : public testing::Test {
 protected:
  void Ran(int64_t bytes, int took_ms, TimePoint now = kNow) {
    forecast_.Record(kSignature, bytes, milliseconds(took_ms), now);
  }
  Duration AtLeast(int64_t bytes, TimePoint now = kNow) { return forecast_.AtLeast(kSignature, bytes, now); }
  Duration Likely(int64_t bytes, TimePoint now = kNow) { return forecast_.Likely(kSignature, bytes, now); }

  Forecast forecast_;
};

TEST_F(ForecastTest, IsZeroBeforeTheFirstRun) {
  EXPECT_EQ(AtLeast(1), Duration(0));
  EXPECT_EQ(Likely(1), Duration(0));
}

TEST_F(ForecastTest, UsesTheMinimumAndTheMeanOfTheLastRuns) {
  for (const int took : {9, 5, 7}) Ran(4, took);
  EXPECT_EQ(AtLeast(4), milliseconds(5));
  EXPECT_EQ(Likely(4), milliseconds(7));
  for (size_t i = 0; i < Forecast::kRunsKept; ++i) Ran(4, 8);
  EXPECT_EQ(AtLeast(4), milliseconds(8)) << "the model has become slower";
}

TEST_F(ForecastTest, UsesSmallerRunsAsLowerBound) {
  Ran(1, 2);
  Ran(64, 30);
  EXPECT_EQ(AtLeast(16), milliseconds(2));
  EXPECT_EQ(AtLeast(64), milliseconds(30));
  EXPECT_EQ(AtLeast(100000), milliseconds(30));
}

TEST_F(ForecastTest, DoesNotUseLargerRunsAsLowerBound) {
  Ran(64, 30);
  EXPECT_EQ(AtLeast(63), Duration(0));
  Ran(127, 90);
  EXPECT_EQ(AtLeast(100), milliseconds(30)) << "127 bytes are in the size class of 100, but are more than 100";
  EXPECT_EQ(AtLeast(127), milliseconds(30)) << "the run of 64 bytes was shorter";
}

TEST_F(ForecastTest, ScalesTheNextLargerSizeForAnUnknownSize) {
  Ran(1000, 40);
  EXPECT_EQ(Likely(250), milliseconds(10));
  Ran(100, 20);
  EXPECT_EQ(Likely(250), milliseconds(20)) << "it takes at least as long as a run of 100 bytes";
  EXPECT_EQ(Likely(100), milliseconds(20));
}

TEST_F(ForecastTest, IgnoresOldRuns) {
  Ran(1, 2);
  EXPECT_EQ(AtLeast(1, kNow + Forecast::kAgeMax), milliseconds(2));
  EXPECT_EQ(AtLeast(1, kNow + Forecast::kAgeMax + milliseconds(1)), Duration(0));
  EXPECT_EQ(Likely(1, kNow + Forecast::kAgeMax + milliseconds(1)), Duration(0));
  EXPECT_EQ(forecast_.AtLeastEver(kSignature, 1), milliseconds(2));
}

TEST_F(ForecastTest, KeepsSignaturesApart) {
  Ran(1, 2);
  EXPECT_EQ(forecast_.AtLeast("other", 1, kNow), Duration(0));
}

TEST_F(ForecastTest, AllowsProbesForATwentiethOfASlot) {
  Ran(8, 100);
  EXPECT_FALSE(forecast_.AllowProbe(kSignature, 8, kNow));
  int probes = 0;
  for (int ms = 0; ms < 60000; ms += 10) {
    const TimePoint now = kNow + milliseconds(ms);
    Ran(8, 100, now);
    probes += forecast_.AllowProbe(kSignature, 8, now);
  }
  EXPECT_EQ(probes, 29) << "one run of 100 ms per 2 s, the first after 2 s";
}

TEST_F(ForecastTest, AllowsOneProbePerSecondForAQuickModel) {
  Ran(8, 1);
  EXPECT_FALSE(forecast_.AllowProbe(kSignature, 8, kNow));
  EXPECT_FALSE(forecast_.AllowProbe(kSignature, 8, kNow + milliseconds(999)));
  EXPECT_TRUE(forecast_.AllowProbe(kSignature, 8, kNow + milliseconds(1000)));
  EXPECT_FALSE(forecast_.AllowProbe(kSignature, 8, kNow + milliseconds(1999)));
}

}  // namespace
}  // namespace longshore::batching
