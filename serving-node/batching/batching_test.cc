#include "serving-node/batching/batching.h"

#include <gtest/gtest.h>

#include <future>
#include <random>

#include "serving-node/models/fake_engine.h"

namespace longshore::batching {
namespace {

using models::FakeModel;
using models::FakeRecord;
using models::kPoison;
using models::RowsRequest;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Future = std::future<Result<RunOutcome>>;

constexpr auto kNever = steady_clock::time_point::max();

Future Submit(Queue& queue, engine::RunRequest request, steady_clock::time_point deadline = kNever) {
  auto promise = std::make_shared<std::promise<Result<RunOutcome>>>();
  auto future = promise->get_future();
  queue.Submit(std::move(request), deadline,
               [promise](Result<RunOutcome> outcome) { promise->set_value(std::move(outcome)); });
  return future;
}

std::vector<float> Answer(const Result<RunOutcome>& outcome) {
  if (!outcome) return {};
  const auto values = outcome->outputs.at("y").values<float>();
  return {values.begin(), values.end()};
}

class Batching : public testing::Test {
 protected:
  std::shared_ptr<FakeModel> Model(int64_t version) { return std::make_shared<FakeModel>(version, record_); }
  void WaitForRuns(size_t runs) {
    record_->Wait([&] { return record_->runs.size() >= runs; });
  }
  std::vector<int64_t> RowsOfRuns() {
    std::vector<int64_t> rows;
    for (const auto& run : record_->runs) rows.push_back(run.rows);
    return rows;
  }

  std::shared_ptr<FakeRecord> record_ = std::make_shared<FakeRecord>();
  Admission admission_{{.concurrent_runs_max = 1}};
};

TEST_F(Batching, JoinsRequestsUntilTheBatchIsFull) {
  Queue queue(admission_, Model(1), {.max_batch_size = 3, .max_delay = hours(1)});
  auto first = Submit(queue, RowsRequest({1, 2}));
  auto second = Submit(queue, RowsRequest({3, 4, 5, 6}));
  const auto one = first.get();
  const auto two = second.get();
  EXPECT_EQ(Answer(one), (std::vector<float>{3, 5}));
  EXPECT_EQ(Answer(two), (std::vector<float>{7, 9, 11, 13}));
  EXPECT_EQ(one->batch_rows, 3);
  EXPECT_EQ(RowsOfRuns(), std::vector<int64_t>{3});
}

TEST_F(Batching, RunsAPartialBatchAfterTheDelay) {
  Queue queue(admission_, Model(1), {.max_batch_size = 100, .max_delay = milliseconds(20)});
  const auto outcome = Submit(queue, RowsRequest({1, 2})).get();
  ASSERT_TRUE(outcome);
  EXPECT_GE(outcome->queue_time, milliseconds(20));
}

TEST_F(Batching, DoesNotWaitForCompanyUntilTheDeadlineIsMissed) {
  Queue queue(admission_, Model(1), {.max_batch_size = 100, .max_delay = hours(1)});
  const auto outcome = Submit(queue, RowsRequest({1, 2}), steady_clock::now() + std::chrono::minutes(1)).get();
  EXPECT_TRUE(outcome);
}

TEST_F(Batching, PadsToTheNextAllowedSizeAndReturnsOnlyTheOwnRows) {
  Queue queue(admission_, Model(1), {.max_batch_size = 4, .allowed_batch_sizes = {2, 4}});
  const auto outcome = Submit(queue, RowsRequest({1, 2, 3, 4, 5, 6})).get();
  EXPECT_EQ(Answer(outcome), (std::vector<float>{3, 5, 7, 9, 11, 13}));
  EXPECT_EQ(outcome->batch_rows, 3);
  EXPECT_EQ(RowsOfRuns(), std::vector<int64_t>{4});
}

TEST_F(Batching, RefusesMoreRowsThanABatchHoldsUnlessBatchingIsOff) {
  Queue batched(admission_, Model(1), {.max_batch_size = 2});
  const auto refused = Submit(batched, RowsRequest({1, 2, 3, 4, 5, 6})).get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{Code::kInvalidArgument, "Task size 3 is larger than maximum input batch size 2"}));
  Queue alone(admission_, Model(1), {.max_batch_size = 1});
  EXPECT_TRUE(Submit(alone, RowsRequest({1, 2, 3, 4, 5, 6})).get());
}

TEST_F(Batching, RefusesWhenTheQueueIsFull) {
  record_->Set(&FakeRecord::holding, true);
  Queue queue(admission_, Model(1), {.queue_max = 2});
  std::vector<Future> accepted;
  accepted.push_back(Submit(queue, RowsRequest({1, 2})));
  WaitForRuns(1);
  for (int i = 0; i < 2; ++i) accepted.push_back(Submit(queue, RowsRequest({1, 2})));
  const auto refused = Submit(queue, RowsRequest({1, 2})).get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(refused.error().message.find("The batch scheduling queue to which this task was submitted is full"), 0u);
  EXPECT_EQ(admission_.load().refused, 1);
  EXPECT_EQ(admission_.load().queued, 2);
  record_->Set(&FakeRecord::holding, false);
  for (auto& future : accepted) EXPECT_TRUE(future.get());
}

TEST_F(Batching, LetsOnlySoManyFullBatchesWait) {
  record_->Set(&FakeRecord::holding, true);
  Queue queue(admission_, Model(1), {.max_batch_size = 2, .queue_batches_max = 2});
  std::vector<Future> accepted;
  accepted.push_back(Submit(queue, RowsRequest({1, 2})));
  WaitForRuns(1);
  for (int i = 0; i < 4; ++i) accepted.push_back(Submit(queue, RowsRequest({1, 2})));
  EXPECT_EQ(Submit(queue, RowsRequest({1, 2})).get().error().code, Code::kUnavailable);
  record_->Set(&FakeRecord::holding, false);
  for (auto& future : accepted) EXPECT_TRUE(future.get());
}

TEST_F(Batching, AnswersWhatMissedItsDeadlineWithoutRunningIt) {
  record_->Set(&FakeRecord::holding, true);
  Queue queue(admission_, Model(1), {});
  auto running = Submit(queue, RowsRequest({1, 2}));
  WaitForRuns(1);
  const auto late = Submit(queue, RowsRequest({1, 2}), steady_clock::now() + milliseconds(10)).get();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
  record_->Set(&FakeRecord::holding, false);
  EXPECT_TRUE(running.get());
  EXPECT_EQ(record_->runs.size(), 1u);
  EXPECT_EQ(admission_.load().queued, 0);
}

TEST_F(Batching, APoisonousRequestDoesNotHarmItsBatchMates) {
  Queue queue(admission_, Model(1), {.max_batch_size = 3, .max_delay = hours(1)});
  auto good = Submit(queue, RowsRequest({1, 2}));
  auto bad = Submit(queue, RowsRequest({kPoison, 2}));
  auto fine = Submit(queue, RowsRequest({3, 4}));
  EXPECT_EQ(Answer(good.get()), (std::vector<float>{3, 5}));
  EXPECT_EQ(Answer(fine.get()), (std::vector<float>{7, 9}));
  const auto poisoned = bad.get();
  ASSERT_FALSE(poisoned);
  EXPECT_EQ(poisoned.error().message, "poison");
}

TEST_F(Batching, OutputsWithoutRowsMakeTheSignatureRunAlone) {
  record_->Set(&FakeRecord::scalars, true);
  Queue queue(admission_, Model(1), {.max_batch_size = 2, .max_delay = milliseconds(10)});
  auto first = Submit(queue, RowsRequest({1, 2}));
  auto second = Submit(queue, RowsRequest({3, 4}));
  EXPECT_EQ(Answer(first.get()), std::vector<float>{1});
  EXPECT_EQ(Answer(second.get()), std::vector<float>{3});
  EXPECT_EQ(Submit(queue, RowsRequest({5, 6})).get()->batch_rows, 0);
}

TEST_F(Batching, QueuesTakeTurns) {
  record_->Set(&FakeRecord::holding, true);
  Queue greedy(admission_, Model(1), {});
  Queue modest(admission_, Model(2), {});
  std::vector<Future> futures;
  for (int i = 0; i < 10; ++i) futures.push_back(Submit(greedy, RowsRequest({1, 2})));
  for (int i = 0; i < 3; ++i) futures.push_back(Submit(modest, RowsRequest({1, 2})));
  record_->Set(&FakeRecord::holding, false);
  for (auto& future : futures) EXPECT_TRUE(future.get());
  int modest_done_after = 0;
  for (int i = 0; i < 13; ++i) {
    if (record_->runs[static_cast<size_t>(i)].version == 2) modest_done_after = i;
  }
  EXPECT_LE(modest_done_after, 6) << "greedy, then one of each in turn";
}

TEST_F(Batching, LimitsRunsAtOnceAndFollowsANewLimit) {
  record_->Set(&FakeRecord::holding, true);
  Queue queue(admission_, Model(1), {});
  std::vector<Future> futures;
  for (int i = 0; i < 4; ++i) futures.push_back(Submit(queue, RowsRequest({1, 2})));
  WaitForRuns(1);
  EXPECT_EQ(admission_.load().running, 1);
  EXPECT_EQ(admission_.load().queued, 3);
  admission_.SetLimits({.concurrent_runs_max = 3});
  WaitForRuns(3);
  EXPECT_EQ(admission_.load().running, 3);
  EXPECT_EQ(admission_.load().concurrent_runs_max, 3);
  record_->Set(&FakeRecord::holding, false);
  for (auto& future : futures) EXPECT_TRUE(future.get());
  const Load after = admission_.load();
  EXPECT_EQ(after.running, 0);
  EXPECT_EQ(after.started, 4);
  EXPECT_GT(after.busy_seconds, 0);
  EXPECT_GT(after.queue_seconds, 0);
}

TEST_F(Batching, ASimulatedRunHoldsItsSlot) {
  admission_.SetLimits({.concurrent_runs_max = 1, .simulated_run = milliseconds(20)});
  Queue queue(admission_, Model(1), {});
  const auto begin = steady_clock::now();
  std::vector<Future> futures;
  for (int i = 0; i < 3; ++i) futures.push_back(Submit(queue, RowsRequest({1, 2})));
  for (auto& future : futures) EXPECT_GE(future.get()->run_time, milliseconds(20));
  EXPECT_GE(steady_clock::now() - begin, milliseconds(60));
  EXPECT_GE(admission_.load().busy_seconds, 0.06);
}

TEST_F(Batching, AQueueThatGoesAnswersAllThatWaits) {
  std::vector<Future> futures;
  {
    Queue queue(admission_, Model(1), {.max_batch_size = 64, .max_delay = hours(1)});
    for (int i = 0; i < 40; ++i) futures.push_back(Submit(queue, RowsRequest({1, 2})));
  }
  for (auto& future : futures) {
    ASSERT_EQ(future.wait_for(std::chrono::seconds(0)), std::future_status::ready);
    EXPECT_TRUE(future.get());
  }
}

// Requests of random sizes from several threads for three versions: every answer is that of the own rows by the own
// version, although one in fifty requests poisons its batch.
TEST_F(Batching, EveryRequestGetsItsOwnRowsOfItsOwnVersion) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  admission_.SetLimits({.concurrent_runs_max = 4});
  std::vector<std::unique_ptr<Queue>> queues;
  for (int version = 1; version <= 3; ++version) {
    queues.push_back(std::make_unique<Queue>(
        admission_, Model(1000 * version),
        Options{.max_batch_size = 8, .max_delay = std::chrono::microseconds(200), .allowed_batch_sizes = {2, 4, 8}}));
  }
  const auto client = [&](unsigned client_number) {
    std::mt19937 random(seed + client_number);
    for (int i = 0; i < 200; ++i) {
      const size_t at = random() % 3;
      std::vector<float> numbers;
      for (size_t n = 2 * (1 + random() % 4); n > 0; --n) numbers.push_back(static_cast<float>(random() % 500));
      const bool poison = random() % 50 == 0;
      if (poison) numbers.front() = kPoison;
      const auto outcome = Submit(*queues[at], RowsRequest(numbers)).get();
      ASSERT_EQ(outcome.has_value(), !poison);
      if (poison) continue;
      for (float& number : numbers) number = 2 * number + 1000 * static_cast<float>(at + 1);
      ASSERT_EQ(Answer(outcome), numbers);
      ASSERT_EQ(outcome->outputs.at("y").dim(0) * 2, static_cast<int64_t>(numbers.size()));
    }
  };
  std::vector<std::thread> clients;
  for (unsigned i = 0; i < 6; ++i) clients.emplace_back(client, i);
  for (auto& thread : clients) thread.join();
  const bool shared =
      std::any_of(record_->runs.begin(), record_->runs.end(), [](const auto& run) { return run.rows > 4; });
  EXPECT_TRUE(shared) << "no batch of several requests was seen";
}

}  // namespace
}  // namespace longshore::batching
