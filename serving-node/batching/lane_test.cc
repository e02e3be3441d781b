#include "serving-node/batching/lane.h"

#include <gmock/gmock.h>

#include <random>

namespace longshore::batching {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

const TimePoint kStart{std::chrono::hours(1)};

class LaneTest : public testing::Test {
 protected:
  Task Make(int priority = 0, milliseconds after = milliseconds(0), int64_t rows = 1, const std::string& key = "k") {
    Task task;
    task.submitted = kStart + after;
    task.terms.priority = priority;
    task.rows = rows;
    task.key = key;
    task.number = ++made_;
    return task;
  }
  static std::vector<uint64_t> NumbersOf(const Batch& batch) {
    std::vector<uint64_t> numbers;
    for (const Task& task : batch) numbers.push_back(task.number);
    return numbers;
  }

  Forecast forecast_;
  uint64_t made_ = 0;
};

TEST_F(LaneTest, AHigherPriorityGoesFirst) {
  Lane lane({.max_batch_size = 2});
  lane.Push(Make(0));
  lane.Push(Make(0));
  lane.Push(Make(1));
  lane.Push(Make(9));
  EXPECT_THAT(NumbersOf(lane.Take(kStart, forecast_).batch), ElementsAre(4, 3));
  EXPECT_THAT(NumbersOf(lane.Take(kStart, forecast_).batch), ElementsAre(1, 2));
}

TEST_F(LaneTest, APriorityOvertakesOnlyRecentRequests) {
  Lane lane({.max_batch_size = 1});
  lane.Push(Make(0, milliseconds(0), 1, ""));
  lane.Push(Make(0, milliseconds(101), 1, ""));
  lane.Push(Make(2, milliseconds(201), 1, ""));
  lane.Push(Make(2, milliseconds(250), 1, ""));
  std::vector<uint64_t> order;
  while (lane.size() > 0) order.push_back(lane.Take(kStart + std::chrono::seconds(1), forecast_).batch.front().number);
  EXPECT_THAT(order, ElementsAre(1, 3, 4, 2)) << "2 steps are worth 200 ms";
}

TEST_F(LaneTest, AHigherPriorityDisplacesTheLowestInAFullLane) {
  Lane lane({.max_batch_size = 1, .queue_max = 2});
  lane.Push(Make(1));
  lane.Push(Make(0));
  EXPECT_FALSE(lane.MakeRoom(Make(0)));
  const auto displaced = lane.MakeRoom(Make(1));
  ASSERT_TRUE(displaced);
  EXPECT_EQ(displaced->number, 2u);
  EXPECT_EQ(lane.size(), 1u);
}

TEST_F(LaneTest, TheLowestPriorityIsDisplacedHoweverLongItHasWaited) {
  Lane lane({.max_batch_size = 1, .queue_max = 3});
  lane.Push(Make(1, milliseconds(300)));
  lane.Push(Make(0, milliseconds(0)));
  lane.Push(Make(0, milliseconds(10)));
  const auto displaced = lane.MakeRoom(Make(2, milliseconds(400)));
  ASSERT_TRUE(displaced);
  EXPECT_EQ(displaced->number, 3u) << "the last of the lowest priority";
}

TEST_F(LaneTest, ARequestOfAnotherKindIsDisplacedOnlyIfThatMakesRoom) {
  Lane lane({.max_batch_size = 2, .queue_max = 3, .queue_batches_max = 1});
  lane.Push(Make(0, milliseconds(0), 1, "a"));
  lane.Push(Make(1, milliseconds(0), 1, "b"));
  lane.Push(Make(1, milliseconds(0), 1, "b"));
  const auto displaced = lane.MakeRoom(Make(2, milliseconds(0), 1, "b"));
  ASSERT_TRUE(displaced);
  EXPECT_EQ(displaced->key, "b") << "only one batch of this kind may wait";
  lane.Push(Make(0, milliseconds(0), 1, "c"));
  EXPECT_EQ(lane.MakeRoom(Make(2, milliseconds(0), 1, "b"))->key, "c")
      << "the last of the lowest priority; kind b has room";
}

TEST_F(LaneTest, LimitsTheNumberOfKinds) {
  Lane lane({.max_batch_size = 2, .queue_max = 1000});
  for (size_t i = 0; i < Lane::kKindsMax; ++i) {
    EXPECT_TRUE(lane.TakesKind(std::to_string(i)));
    lane.Push(Make(0, milliseconds(0), 1, std::to_string(i)));
  }
  EXPECT_FALSE(lane.TakesKind("another"));
  EXPECT_TRUE(lane.TakesKind("0"));
  lane.Take(kStart, forecast_);
  EXPECT_TRUE(lane.TakesKind("another"));
}

TEST_F(LaneTest, ARemovedRequestIsNotRunAndMakesRoom) {
  Lane lane({.max_batch_size = 4, .queue_max = 2, .queue_batches_max = 1});
  Task leaves = Make(0, milliseconds(0), 3);
  const Rank rank = leaves.rank();
  lane.Push(std::move(leaves));
  EXPECT_FALSE(lane.HasRoom("k", 2, 1));
  ASSERT_TRUE(lane.Remove("k", rank));
  EXPECT_FALSE(lane.Remove("k", rank));
  EXPECT_TRUE(lane.HasRoom("k", 2, 1));
  EXPECT_EQ(lane.size(), 0u);
  EXPECT_EQ(lane.ReadyAt(), std::nullopt);
}

TEST_F(LaneTest, AFailedBatchRunsAgainBeforeAllOthersUnchanged) {
  Lane lane({.max_batch_size = 2});
  lane.Push(Make(9));
  Batch half;
  half.push_back(Make());
  lane.PushBatch(std::move(half));
  EXPECT_THAT(NumbersOf(lane.Take(kStart, forecast_).batch), ElementsAre(2));
  EXPECT_THAT(NumbersOf(lane.Take(kStart, forecast_).batch), ElementsAre(1));
}

TEST_F(LaneTest, ARequestDoesNotWaitForOthersIfItWouldMissItsDeadline) {
  Lane lane({.max_batch_size = 8, .max_delay = milliseconds(50)});
  Task task = Make();
  task.terms.deadline = kStart + milliseconds(60);
  task.least_run = milliseconds(20);
  lane.Push(std::move(task));
  EXPECT_EQ(lane.ReadyAt(), kStart);
}

TEST_F(LaneTest, RequestsThatAreTooLateLeaveWithTheTimeOfTheirRun) {
  Lane lane({.max_batch_size = 4, .queue_max = 10});
  const std::string signature = "a signature with a name that is longer than a short string";
  forecast_.Record(signature, 4, milliseconds(20), kStart);
  for (int i = 0; i < 3; ++i) {
    Task task = Make();
    task.request.signature = signature;
    task.bytes = 4;
    task.terms.deadline = kStart + milliseconds(10);
    lane.Push(std::move(task));
  }
  const Taken taken = lane.Take(kStart, forecast_);
  EXPECT_TRUE(taken.batch.empty());
  ASSERT_EQ(taken.late.size(), 3u);
  for (const Task& late : taken.late) EXPECT_EQ(late.least_run, milliseconds(20));
}

// Random pushes, takes, removals and expiries: no task is lost or taken twice; a batch has one kind and a valid size,
// and its tasks have lower ranks than the tasks of this kind that still wait.
TEST_F(LaneTest, LosesNoTaskAndKeepsTheOrder) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    const int rows_max = 1 + static_cast<int>(random() % 8);
    Lane lane({.max_batch_size = rows_max, .max_delay = milliseconds(random() % 20), .queue_max = 1 << 20});
    std::map<std::string, std::map<Rank, TimePoint>> waiting;
    TimePoint now = kStart;
    size_t left = 0;
    const auto forget = [&](const Task& task) {
      ASSERT_EQ(waiting[task.key].erase(task.rank()), 1u);
      --left;
    };
    for (int step = 0; step < 300; ++step) {
      now += milliseconds(random() % 5);
      Task task = Make(static_cast<int>(random() % 10), std::chrono::duration_cast<milliseconds>(now - kStart),
                       1 + static_cast<int64_t>(random() % static_cast<unsigned>(rows_max)),
                       random() % 4 == 0 ? "" : std::string(1, static_cast<char>('a' + random() % 3)));
      task.terms.deadline = now + milliseconds(random() % 60);
      waiting[task.key].emplace(task.rank(), task.terms.deadline);
      const auto [key, rank] = std::pair(task.key, task.rank());
      lane.Push(std::move(task));
      ++left;
      if (random() % 10 == 0) forget(*lane.Remove(key, rank));
      if (random() % 5 == 0) {
        for (const Task& expired : lane.TakeExpired(now)) {
          ASSERT_LE(expired.terms.deadline, now);
          forget(expired);
        }
      }
      while (lane.ReadyAt() && *lane.ReadyAt() <= now && random() % 3 != 0) {
        const Taken taken_now = lane.Take(now, forecast_);
        for (const Task& late : taken_now.late) forget(late);
        const Batch& batch = taken_now.batch;
        if (batch.empty()) continue;
        int64_t rows = 0;
        for (const Task& taken : batch) {
          ASSERT_EQ(taken.key, batch.front().key);
          rows += taken.rows;
          forget(taken);
        }
        ASSERT_TRUE(batch.size() == 1 || (rows <= rows_max && !batch.front().key.empty()));
        const auto& kind = waiting[batch.front().key];
        ASSERT_TRUE(kind.empty() || batch.back().rank() < kind.begin()->first);
      }
      ASSERT_EQ(lane.size(), left);
    }
  }
}

}  // namespace
}  // namespace longshore::batching
