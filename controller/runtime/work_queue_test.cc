#include "controller/runtime/work_queue.h"

#include <gtest/gtest.h>

#include <thread>

namespace longshore::runtime {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

api::Key Model(const std::string& name) { return {api::kModelKind, "default", name}; }

TEST(WorkQueue, AKeyThatIsAddedTwiceIsTakenOnce) {
  WorkQueue queue;
  queue.Add(Model("a"));
  queue.Add(Model("a"), hours(1));
  EXPECT_EQ(queue.Take(), Model("a"));
  queue.Add(Model("b"));
  EXPECT_EQ(queue.Take(), Model("b")) << "a is not queued a second time";
}

TEST(WorkQueue, TheEarlierTimeCounts) {
  WorkQueue queue;
  queue.Add(Model("late"), hours(1));
  queue.Add(Model("late"));
  EXPECT_EQ(queue.Take(), Model("late"));
}

TEST(WorkQueue, KeysAreTakenInTheOrderOfTheirTimes) {
  WorkQueue queue;
  queue.Add(Model("a"), milliseconds(2));
  queue.Add(Model("b"), milliseconds(1));
  EXPECT_EQ(queue.Take(), Model("b"));
  EXPECT_EQ(queue.Take(), Model("a"));
}

TEST(WorkQueue, NudgeEndsOneTakeWithoutLosingAKey) {
  WorkQueue queue;
  queue.Add(Model("a"));
  queue.Nudge();
  queue.Nudge();
  EXPECT_FALSE(queue.Take());
  EXPECT_FALSE(queue.is_stopped());
  EXPECT_EQ(queue.Take(), Model("a"));
  std::thread waiting([&] { EXPECT_FALSE(queue.Take()); });
  queue.Nudge();
  waiting.join();
  queue.Stop();
  EXPECT_TRUE(queue.is_stopped());
}

TEST(WorkQueue, TakeEndsWithoutAKeyIfNoneWasDueInTime) {
  WorkQueue queue;
  EXPECT_FALSE(queue.Take(milliseconds(1)));
  queue.Add(Model("late"), hours(1));
  EXPECT_FALSE(queue.Take(milliseconds(1)));
  queue.Add(Model("due"));
  EXPECT_EQ(queue.Take(milliseconds(0)), Model("due"));
  EXPECT_FALSE(queue.is_stopped());
}

TEST(WorkQueue, PausesDoubleWithEachFailureInARow) {
  WorkQueue queue({.backoff_min = milliseconds(4), .backoff_max = milliseconds(1000)});
  const auto wait = [&] {
    const auto begin = steady_clock::now();
    queue.AddAfterFailure(Model("a"));
    queue.Take();
    return steady_clock::now() - begin;
  };
  EXPECT_GE(wait(), milliseconds(4));
  EXPECT_GE(wait(), milliseconds(8));
  EXPECT_GE(wait(), milliseconds(16));
}

TEST(WorkQueue, StopEndsTheWait) {
  WorkQueue queue;
  std::thread waiting([&] { EXPECT_FALSE(queue.Take()); });
  queue.Stop();
  waiting.join();
}

}  // namespace
}  // namespace longshore::runtime
