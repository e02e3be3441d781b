#include "serving-node/frontend/in_flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace longshore::frontend {
namespace {

TEST(InFlight, RefusesRequestsAboveTheLimitUntilOneEnds) {
  InFlight in_flight({.requests_max = 2});
  auto first = *in_flight.Enter();
  const auto second = *in_flight.Enter();
  const auto copy = second;
  EXPECT_EQ(in_flight.Enter().error(),
            (Error{Code::kResourceExhausted, "too many requests are in flight on this node"}));
  EXPECT_FALSE(in_flight.Enter());
  first.reset();
  const auto third = in_flight.Enter();
  EXPECT_TRUE(third);
  EXPECT_FALSE(in_flight.Enter());
}

TEST(InFlight, TellsWhetherASlotIsFreeWithoutTakingIt) {
  InFlight in_flight({.requests_max = 1});
  EXPECT_TRUE(in_flight.Check());
  EXPECT_TRUE(in_flight.Check());
  const auto slot = in_flight.Enter();
  EXPECT_EQ(in_flight.Check().error(), in_flight.Enter().error());
}

TEST(InFlight, NeverAdmitsMoreThanTheLimitWhenManyThreadsEnter) {
  InFlight in_flight({.requests_max = 3});
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 20000; ++turn) {
        const auto slot = in_flight.Enter();
        if (!slot) continue;
        const int now = ++inside;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        --inside;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(most, 3);
  EXPECT_TRUE(in_flight.Check());
}

TEST(InFlight, LimitsTheTotalSizeOfUnwrittenAnswers) {
  InFlight in_flight({.requests_max = 10, .answer_bytes_max = 100});
  auto first = *in_flight.Enter();
  const auto second = *in_flight.Enter();
  EXPECT_TRUE(first->HoldAnswer(60));
  const Status refused = second->HoldAnswer(60);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(),
            (Error{Code::kUnavailable, "the answers that clients have not read yet exceed 100 bytes"}));
  EXPECT_TRUE(second->HoldAnswer(40));
  first.reset();
  EXPECT_TRUE(second->HoldAnswer(100));
}

TEST(InFlight, OnlyErrorsThatMayPassAreRetried) {
  EXPECT_TRUE(MayRetry({Code::kUnavailable, "x"}));
  EXPECT_FALSE(MayRetry({Code::kResourceExhausted, "x"}));
  EXPECT_FALSE(MayRetry({Code::kInternal, "x"}));
}

}  // namespace
}  // namespace longshore::frontend
