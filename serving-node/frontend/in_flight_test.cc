#include "serving-node/frontend/in_flight.h"

#include <gtest/gtest.h>

namespace longshore::frontend {
namespace {

TEST(InFlight, RefusesWhatIsTooMuchAndTakesMoreWhenOneIsDone) {
  InFlight in_flight(2);
  auto first = in_flight.Enter();
  const auto second = in_flight.Enter();
  const auto copy = second;
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(in_flight.Enter());
  EXPECT_FALSE(in_flight.Enter());
  first.reset();
  const auto third = in_flight.Enter();
  EXPECT_TRUE(third);
  EXPECT_FALSE(in_flight.Enter());
}

TEST(InFlight, OnlyWhatMaySucceedLaterIsWorthAnotherTry) {
  EXPECT_TRUE(MayRetry({Code::kUnavailable, "x"}));
  EXPECT_FALSE(MayRetry({Code::kResourceExhausted, NoPlace().message}));  // By its text alone nothing is judged.
  EXPECT_FALSE(MayRetry({Code::kInternal, "x"}));
}

}  // namespace
}  // namespace longshore::frontend
