#include "serving-node/routing/queue_delay.h"

#include <gtest/gtest.h>

namespace longshore::routing {
namespace {

using std::chrono::milliseconds;

batching::Load LoadOf(int64_t queued, double busy_seconds, int64_t started) {
  batching::Load load;
  load.queued = queued;
  load.concurrent_runs_max = 2;
  load.busy_seconds = busy_seconds;
  load.started = started;
  return load;
}

class QueueDelayTest : public testing::Test {
 protected:
  QueueDelay delay_;
  const QueueDelay::TimePoint start_ = std::chrono::steady_clock::now();
};

TEST_F(QueueDelayTest, IsTheCostOfTheQueueDividedByTheSlots) {
  EXPECT_EQ(delay_.Estimate(LoadOf(5, 0, 0), start_), milliseconds(0)) << "no request has run yet";
  EXPECT_EQ(delay_.Estimate(LoadOf(0, 1, 100), start_), milliseconds(0));
  EXPECT_EQ(delay_.Estimate(LoadOf(6, 1, 100), start_), milliseconds(30)) << "6 requests of 10 ms each in 2 slots";
}

TEST_F(QueueDelayTest, FollowsRunsThatBecomeSlowAfterManyFastOnes) {
  delay_.Estimate(LoadOf(0, 1000, 1'000'000), start_);  // A mean of 1 ms per request.
  delay_.Estimate(LoadOf(0, 1000, 1'000'000), start_ + QueueDelay::kWindow);
  EXPECT_EQ(delay_.Estimate(LoadOf(2, 1000.5, 1'000'005), start_ + 2 * QueueDelay::kWindow), milliseconds(100));
}

TEST_F(QueueDelayTest, RemembersTheCostWhileNothingStarts) {
  delay_.Estimate(LoadOf(0, 1, 100), start_);
  delay_.Estimate(LoadOf(0, 1, 100), start_ + QueueDelay::kWindow);
  EXPECT_EQ(delay_.Estimate(LoadOf(2, 1, 100), start_ + 2 * QueueDelay::kWindow), milliseconds(10));
}

}  // namespace
}  // namespace longshore::routing
