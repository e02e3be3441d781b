#include "serving-node/batching/refusals.h"

#include <gtest/gtest.h>

namespace longshore::batching {
namespace {

TEST(MayBeCausedByOneRequest, IsTrueForErrorsThatARequestCanCause) {
  for (const Code code :
       {Code::kUnknown, Code::kInvalidArgument, Code::kNotFound, Code::kAlreadyExists, Code::kFailedPrecondition,
        Code::kOutOfRange, Code::kUnimplemented, Code::kInternal, Code::kDataLoss, Code::kResourceExhausted}) {
    EXPECT_TRUE(MayBeCausedByOneRequest({code, ""})) << CodeName(code);
  }
  for (const Code code : {Code::kCancelled, Code::kDeadlineExceeded, Code::kUnavailable, Code::kAborted,
                          Code::kPermissionDenied, Code::kUnauthenticated}) {
    EXPECT_FALSE(MayBeCausedByOneRequest({code, ""})) << CodeName(code);
  }
}

Task TaskWith(Duration left) {
  Task task;
  task.request.signature = "s";
  task.bytes = 4;
  task.submitted = TimePoint(std::chrono::hours(1));
  task.terms.deadline = task.submitted + left;
  return task;
}

TEST(RefuseLate, LeavesTimeForAnErrorOfTheExpectedWait) {
  constexpr std::chrono::milliseconds kRun(80);
  const TimePoint now = TaskWith(kRun).submitted;
  Lane lane({});
  Forecast forecast;
  forecast.Record("s", 4, kRun, now);
  const auto refused = [&](Duration left) {
    Task task = TaskWith(left);
    return RefuseLate({&task, 1}, lane, {1, now}, &forecast);
  };
  EXPECT_FALSE(refused(kRun)) << "it does not wait";
  Task waiting = TaskWith(std::chrono::hours(1));
  EXPECT_FALSE(RefuseLate({&waiting, 1}, lane, {1, now}, &forecast));
  lane.Push(std::move(waiting));
  EXPECT_EQ(refused(kRun)->message, "The deadline is 80 ms away, and the answer would take at least 160 ms");
  EXPECT_EQ(refused(2 * kRun)->message,
            "The deadline is 160 ms away, and the answer would take at least 160 ms; its wait may take 10 ms more than "
            "expected");
  EXPECT_TRUE(refused(2 * kRun + kRun / 8 - Duration(1)));
  EXPECT_FALSE(refused(2 * kRun + kRun / 8));
}

}  // namespace
}  // namespace longshore::batching
