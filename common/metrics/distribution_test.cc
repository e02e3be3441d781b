#include "common/metrics/distribution.h"

#include <gmock/gmock.h>

#include <thread>

namespace longshore::metrics {
namespace {

using testing::ElementsAre;

const Bounds kTens = {10, 20, 30};
const Bounds kFives = {5, 20};

TEST(Distribution, CountsAnObservationInTheRightBucketOfEveryView) {
  const Bounds all = Union({kTens, kFives});
  Distribution distribution(all);
  for (const double value : {5.0, 5.1, 20.0, 20.1, 31.0}) distribution.Observe(value);
  EXPECT_THAT(distribution.Read(kTens).counts, ElementsAre(2, 1, 1, 1));
  EXPECT_THAT(distribution.Read(kFives).counts, ElementsAre(1, 2, 2));
  EXPECT_DOUBLE_EQ(distribution.Read(kFives).sum, 81.2);
  EXPECT_EQ(distribution.Read(kFives).count(), 5);
}

TEST(Distribution, HasTheBoundsOfTensorFlowServingForTimes) {
  EXPECT_EQ(ServingBounds().size(), 33u);
  EXPECT_THAT((Bounds{ServingBounds().begin(), ServingBounds().begin() + 4}), ElementsAre(10, 18, 32.4, 58.32));
  Distribution distribution(TimeBounds());
  distribution.Observe(32.4);
  distribution.Observe(33);
  EXPECT_EQ(distribution.Read(ServingBounds()).counts[2], 1);
  EXPECT_EQ(distribution.Read(ServingBounds()).counts[3], 1);
  EXPECT_EQ(distribution.Read(SecondsBounds()).counts[0], 2);
  EXPECT_EQ(distribution.Read(QueuingBounds()).counts[0], 2);
}

TEST(Distribution, AddsOtherDistributionsAndConvertsUnits) {
  Distribution one(SecondsBounds());
  Distribution two(SecondsBounds());
  one.Observe(100);
  two.Observe(250);
  one.Add(two);
  Buckets read = one.Read(SecondsBounds());
  read.DivideBy(1e6);
  EXPECT_THAT((Bounds{read.bounds.begin(), read.bounds.begin() + 4}), ElementsAre(0.0001, 0.0002, 0.0003, 0.0005));
  EXPECT_EQ(read.counts[0], 1);
  EXPECT_EQ(read.counts[2], 1);
  EXPECT_DOUBLE_EQ(read.sum, 0.00035);
}

TEST(Distribution, LosesNoObservationOfConcurrentThreads) {
  Distribution distribution(CountBounds());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) distribution.Observe(n % 7);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(distribution.Read(CountBounds()).count(), 4000);
  EXPECT_DOUBLE_EQ(distribution.Read(CountBounds()).sum, 4 * (142 * 21 + 0 + 1 + 2 + 3 + 4 + 5));
}

}  // namespace
}  // namespace longshore::metrics
