#include "tests/load/program.h"

#include <gtest/gtest.h>

namespace longshore::load {
namespace {

using std::chrono::milliseconds;

TEST(AwaitAnswers, ARequestThatIsNeverAnsweredIsReportedAtTheLimit) {
  Ledger ledger(TimePoint{}, 1);
  ledger.Sent(1, std::nullopt, TimePoint{});
  int calls = 0;
  EXPECT_FALSE(AwaitAnswers(ledger, milliseconds(30), [&] { ++calls; }));
  EXPECT_EQ(ledger.in_flight(), 1U);
  EXPECT_GT(calls, 0);
}

TEST(AwaitAnswers, EndsWithTheLastAnswer) {
  Ledger ledger(TimePoint{}, 1);
  ledger.Sent(1, std::nullopt, TimePoint{});
  EXPECT_TRUE(AwaitAnswers(ledger, std::chrono::hours(1), [&] { ledger.Answered(1, {}, TimePoint{}); }));
  EXPECT_TRUE(AwaitAnswers(ledger, std::chrono::hours(1), [] { FAIL() << "all requests are answered"; }));
}

TEST(AwaitAnswers, EachTryHasTheWholeDeadline) {
  EXPECT_EQ(AnswerTimeMax(milliseconds(2000), 0), milliseconds(7000));
  EXPECT_EQ(AnswerTimeMax(milliseconds(2000), 6), milliseconds(19000));
}

}  // namespace
}  // namespace longshore::load
