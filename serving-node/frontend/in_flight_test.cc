#include "serving-node/frontend/in_flight.h"

#include <gtest/gtest.h>

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

TEST(InFlight, LeavesSlotsToOthersWhenOneConnectionTakesAllItMay) {
  InFlight in_flight({.requests_max = 3, .connection_requests_max = 2});
  auto first = *in_flight.Enter("ipv4:127.0.0.1:5001");
  const auto second = in_flight.Enter("ipv4:127.0.0.1:5001");
  EXPECT_TRUE(second);
  EXPECT_EQ(in_flight.Enter("ipv4:127.0.0.1:5001").error(),
            (Error{Code::kResourceExhausted, "too many requests are in flight on this connection: the limit is 2"}));
  EXPECT_TRUE(in_flight.Enter("ipv4:127.0.0.1:5002"));
  EXPECT_TRUE(in_flight.Enter());
  first.reset();
  EXPECT_TRUE(in_flight.Enter("ipv4:127.0.0.1:5001"));
}

TEST(InFlight, TellsWhetherASlotIsFreeWithoutTakingIt) {
  InFlight in_flight({.requests_max = 2, .connection_requests_max = 1});
  EXPECT_TRUE(in_flight.Check("ipv4:127.0.0.1:5001"));
  const auto first = in_flight.Enter("ipv4:127.0.0.1:5001");
  EXPECT_EQ(in_flight.Check("ipv4:127.0.0.1:5001").error(), in_flight.Enter("ipv4:127.0.0.1:5001").error());
  EXPECT_TRUE(in_flight.Check("ipv4:127.0.0.1:5002"));
  const auto second = in_flight.Enter();
  EXPECT_EQ(in_flight.Check().error(), in_flight.Enter().error());
}

TEST(InFlight, RequestsWithoutAConnectionHaveOnlyTheCommonLimit) {
  InFlight in_flight({.requests_max = 3, .connection_requests_max = 1});
  const auto first = in_flight.Enter();
  const auto second = in_flight.Enter();
  EXPECT_TRUE(first && second);
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
