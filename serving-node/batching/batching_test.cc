#include "serving-node/batching/batching.h"

#include <gmock/gmock.h>

#include <atomic>
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

Future Submit(Queue& queue, engine::RunRequest request, Terms terms = {}) {
  auto promise = std::make_shared<std::promise<Result<RunOutcome>>>();
  auto future = promise->get_future();
  queue.Submit(std::move(request), std::move(terms),
               [promise](Result<RunOutcome> outcome) { promise->set_value(std::move(outcome)); });
  return future;
}

std::vector<float> Answer(const Result<RunOutcome>& outcome) {
  if (!outcome) return {};
  const auto values = outcome->outputs.at("y").values<float>();
  return {values.begin(), values.end()};
}

// Answers immediately, and reports a run time of three minutes.
class ThreeMinuteModel final : public engine::LoadedModel {
 public:
  const google::protobuf::Map<std::string, tensorflow::SignatureDef>& signatures() const override {
    return signatures_;
  }
  int64_t memory_bytes() const override { return 0; }
  void Run(engine::RunRequest request, engine::RunDone done) override {
    done(engine::RunResult{.outputs = std::move(request.inputs), .took = std::chrono::minutes(3)});
  }

 private:
  google::protobuf::Map<std::string, tensorflow::SignatureDef> signatures_;
};

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

class Watch final : public RunWatch {
 public:
  std::shared_ptr<WatchedRun> Begin() override { return looks ? std::make_shared<WatchedRun>() : nullptr; }
  void Ended(const std::shared_ptr<WatchedRun>& run) override { ended.push_back(run); }

  std::atomic<bool> looks = true;
  std::vector<std::shared_ptr<WatchedRun>> ended;  // Read after the queue is destroyed.
};

TEST_F(Batching, ReportsEachRecordedRunToItsWatch) {
  const auto watch = std::make_shared<Watch>();
  {
    const Options options{.max_batch_size = 3, .max_delay = hours(1), .allowed_batch_sizes = {4}};
    Queue queue(admission_, Model(1), options, "", watch);
    auto first = Submit(queue, RowsRequest({1, 2}));
    EXPECT_EQ(Answer(Submit(queue, RowsRequest({3, 4, 5, 6})).get()), (std::vector<float>{7, 9, 11, 13}));
    first.get();
    watch->looks = false;
    Submit(queue, RowsRequest({1, 2, 1, 2, 1, 2})).get();
  }
  ASSERT_EQ(watch->ended.size(), 1U);
  const WatchedRun& run = *watch->ended[0];
  EXPECT_EQ(run.signature, "serving_default");
  EXPECT_EQ(run.inputs, "x DT_FLOAT [4,2]");
  EXPECT_EQ(run.requests, 2);
  EXPECT_EQ(run.rows, 3);
  EXPECT_EQ(run.rows_padded, 4);
  EXPECT_LE(run.began, run.ended);
  EXPECT_EQ(run.error, "");
}

TEST_F(Batching, ReportsAFailedRunToItsWatch) {
  const auto watch = std::make_shared<Watch>();
  {
    Queue queue(admission_, Model(1), {}, "", watch);
    Submit(queue, RowsRequest({kPoison, 0})).get();
  }
  ASSERT_EQ(watch->ended.size(), 1U);
  EXPECT_EQ(watch->ended[0]->error, "INVALID_ARGUMENT");
}

// Throws std::bad_alloc in Begin or in Ended.
class OutOfMemoryWatch final : public RunWatch {
 public:
  enum class At { kBegin, kEnd };
  explicit OutOfMemoryWatch(At at) : at_(at) {}

  std::shared_ptr<WatchedRun> Begin() override {
    asked += 1;
    if (at_ == At::kBegin) throw std::bad_alloc();
    auto run = std::make_shared<WatchedRun>();
    last = run;
    return run;
  }
  void Ended(const std::shared_ptr<WatchedRun>&) override {
    asked += 1;
    throw std::bad_alloc();
  }

  int asked = 0;  // This and `last` are read after the queue is destroyed.
  std::weak_ptr<WatchedRun> last;

 private:
  const At at_;
};

TEST_F(Batching, AnswersAlthoughTheWatchHasNoMemory) {
  for (const auto at : {OutOfMemoryWatch::At::kBegin, OutOfMemoryWatch::At::kEnd}) {
    const auto watch = std::make_shared<OutOfMemoryWatch>(at);
    {
      Queue queue(admission_, Model(1), {}, "", watch);
      EXPECT_EQ(Answer(Submit(queue, RowsRequest({1, 2})).get()), (std::vector<float>{3, 5}));
    }
    EXPECT_EQ(watch->asked, at == OutOfMemoryWatch::At::kBegin ? 1 : 2);
    EXPECT_TRUE(watch->last.expired()) << "a run without Ended is destroyed";
  }
}

TEST_F(Batching, RunsAPartialBatchAfterTheDelay) {
  Queue queue(admission_, Model(1), {.max_batch_size = 100, .max_delay = milliseconds(20)});
  const auto outcome = Submit(queue, RowsRequest({1, 2})).get();
  ASSERT_TRUE(outcome);
  EXPECT_GE(outcome->queue_time, milliseconds(20));
}

TEST_F(Batching, DoesNotWaitForOtherRequestsPastTheDeadline) {
  Queue queue(admission_, Model(1), {.max_batch_size = 100, .max_delay = hours(1)});
  const auto outcome =
      Submit(queue, RowsRequest({1, 2}), {.deadline = steady_clock::now() + std::chrono::minutes(1)}).get();
  EXPECT_TRUE(outcome);
}

TEST_F(Batching, PadsToTheNextAllowedSizeAndReturnsOnlyTheRequestedRows) {
  Queue queue(admission_, Model(1), {.max_batch_size = 4, .allowed_batch_sizes = {2, 4}});
  const auto outcome = Submit(queue, RowsRequest({1, 2, 3, 4, 5, 6})).get();
  EXPECT_EQ(Answer(outcome), (std::vector<float>{3, 5, 7, 9, 11, 13}));
  EXPECT_EQ(outcome->batch_rows, 3);
  EXPECT_EQ(RowsOfRuns(), std::vector<int64_t>{4});
}

TEST_F(Batching, RunsARequestThatFailedPaddedOnceMoreWithItsOwnRows) {
  Queue queue(admission_, Model(1), {.max_batch_size = 4, .allowed_batch_sizes = {1, 4}});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Submit(queue, RowsRequest({kPoison, 2, 3, 4})).get().error().message, "poison");
  }
  EXPECT_EQ(Submit(queue, RowsRequest({kPoison, 2})).get().error().message, "poison");
  EXPECT_EQ(RowsOfRuns(), (std::vector<int64_t>{4, 2, 4, 2, 1})) << "a request of an allowed size is not padded";
  EXPECT_EQ(Answer(Submit(queue, RowsRequest({1, 2, 3, 4})).get()), (std::vector<float>{3, 5, 7, 9}));
  EXPECT_EQ(RowsOfRuns().back(), 4) << "the signature is still batched";
}

TEST_F(Batching, RunsARequestThatOverloadsTheEngineNotAgain) {
  Queue queue(admission_, Model(1), {.max_batch_size = 4, .allowed_batch_sizes = {4}});
  EXPECT_FALSE(Submit(queue, RowsRequest({models::kOverload, 2})).get());
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

TEST_F(Batching, LimitsTheNumberOfWaitingFullBatches) {
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

TEST_F(Batching, AnswersARequestPastItsDeadlineWithoutRunningIt) {
  record_->Set(&FakeRecord::holding, true);
  Queue queue(admission_, Model(1), {});
  auto running = Submit(queue, RowsRequest({1, 2}));
  WaitForRuns(1);
  const auto late = Submit(queue, RowsRequest({1, 2}), {.deadline = steady_clock::now() + milliseconds(10)}).get();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
  record_->Set(&FakeRecord::holding, false);
  EXPECT_TRUE(running.get());
  EXPECT_EQ(record_->runs.size(), 1u);
  EXPECT_EQ(admission_.load().queued, 0);
}

TEST_F(Batching, AFailingRequestDoesNotFailTheOthersOfItsBatch) {
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

TEST_F(Batching, RunsRequestsAloneIfTheOutputsHaveNoRows) {
  record_->Set(&FakeRecord::scalars, true);
  Queue queue(admission_, Model(1), {.max_batch_size = 2, .max_delay = milliseconds(10)});
  auto first = Submit(queue, RowsRequest({1, 2}));
  auto second = Submit(queue, RowsRequest({3, 4}));
  EXPECT_EQ(Answer(first.get()), std::vector<float>{1});
  EXPECT_EQ(Answer(second.get()), std::vector<float>{3});
  EXPECT_EQ(Submit(queue, RowsRequest({5, 6})).get()->batch_rows, 0);
}

TEST_F(Batching, AnswersRequestsOfMoreShapesThanItBatches) {
  record_->Set(&FakeRecord::holding, true);
  Queue queue(admission_, Model(1), {.max_batch_size = 2, .queue_max = 100000, .pad_rows = false});
  auto running = Submit(queue, RowsRequest({1, 2}));
  WaitForRuns(1);
  std::vector<Future> futures;
  for (int64_t width = 1; width <= 200; ++width) {
    futures.push_back(
        Submit(queue, {"serving_default",
                       {{"x", tensor::Tensor::Of<float>({1, width}, std::vector<float>(static_cast<size_t>(width)))}},
                       {}}));
  }
  record_->Set(&FakeRecord::holding, false);
  for (size_t i = 0; i < futures.size(); ++i) EXPECT_EQ(futures[i].get().has_value(), i == 1) << i;
  EXPECT_TRUE(running.get());
}

TEST_F(Batching, RunsTheModelThatHasUsedLessRunTimeNext) {
  record_->Set(&FakeRecord::holding, true);
  Queue greedy(admission_, Model(1), {});
  Queue modest(admission_, Model(2), {});
  std::vector<Future> futures;
  for (int i = 0; i < 10; ++i) futures.push_back(Submit(greedy, RowsRequest({1, 2})));
  WaitForRuns(1);
  for (int i = 0; i < 3; ++i) futures.push_back(Submit(modest, RowsRequest({1, 2})));
  record_->Set(&FakeRecord::holding, false);
  for (auto& future : futures) EXPECT_TRUE(future.get());
  EXPECT_EQ(record_->runs[0].version, 1);
  EXPECT_EQ(record_->runs[1].version, 2) << "although nine requests of version 1 came before it";
}

TEST_F(Batching, LimitsConcurrentRunsAndFollowsANewLimit) {
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

TEST_F(Batching, TakesTheRunTimeFromTheEngine) {
  Queue queue(admission_, std::make_shared<ThreeMinuteModel>(), {});
  EXPECT_EQ(Submit(queue, RowsRequest({1, 2})).get()->run_time, std::chrono::minutes(3));
}

TEST_F(Batching, AnswersAllWaitingRequestsWhenTheQueueIsDestroyed) {
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

// On a busy machine all times may be longer, so the test uses only their lower bounds.
TEST_F(Batching, RefusesARequestImmediatelyIfRecentRunsTookLongerThanItsDeadline) {
  admission_.SetLimits({.concurrent_runs_max = 1, .simulated_run = milliseconds(50)});
  Queue queue(admission_, Model(1), {});
  const auto soon = [] { return Terms{.deadline = steady_clock::now() + milliseconds(30)}; };
  const Terms terms = soon();
  auto first = Submit(queue, RowsRequest({1, 2}), terms);
  const bool was_in_time = steady_clock::now() < terms.deadline;
  EXPECT_TRUE(first.get() || !was_in_time) << "its run time is unknown";
  EXPECT_TRUE(Submit(queue, RowsRequest({1, 2})).get());
  const size_t runs = record_->runs.size();
  const int64_t refused_before = admission_.load().refused;
  auto refused = Submit(queue, RowsRequest({1, 2}), soon());
  ASSERT_EQ(refused.wait_for(milliseconds(0)), std::future_status::ready);
  const auto outcome = refused.get();
  EXPECT_EQ(outcome.error().code, Code::kDeadlineExceeded);
  int deadline_ms = 0;
  int answer_ms = 0;
  const char* form = "The deadline is %d ms away, and the answer would take at least %d ms";
  EXPECT_EQ(sscanf(outcome.error().message.c_str(), form, &deadline_ms, &answer_ms), 2) << outcome.error().message;
  EXPECT_LE(deadline_ms, 30);
  EXPECT_GE(answer_ms, 50);
  EXPECT_EQ(record_->runs.size(), runs);
  EXPECT_EQ(admission_.load().refused, refused_before + 1);
  EXPECT_TRUE(Submit(queue, RowsRequest({1, 2}), {.deadline = steady_clock::now() + hours(1)}).get());
}

TEST_F(Batching, CountsWaitingFullBatchesAgainstTheDeadline) {
  admission_.SetLimits({.concurrent_runs_max = 1, .simulated_run = milliseconds(20)});
  Queue queue(admission_, Model(1), {.max_batch_size = 4});
  const std::vector<float> four_rows(8);
  EXPECT_TRUE(Submit(queue, RowsRequest(four_rows)).get());
  std::vector<Future> before;
  for (int i = 0; i < 20; ++i) before.push_back(Submit(queue, RowsRequest(four_rows)));
  auto refused = Submit(queue, RowsRequest({1, 2}), {.deadline = steady_clock::now() + milliseconds(100)});
  ASSERT_EQ(refused.wait_for(milliseconds(0)), std::future_status::ready)
      << "although no run of one row has been measured";
  EXPECT_THAT(refused.get().error().message, testing::HasSubstr("the answer would take at least"));
  for (auto& future : before) EXPECT_TRUE(future.get());
}

TEST_F(Batching, ASlowLargeRequestDoesNotCauseRefusalsOfSmallOnes) {
  record_->row_time = milliseconds(2);
  Queue queue(admission_, Model(1), {});
  EXPECT_TRUE(Submit(queue, RowsRequest(std::vector<float>(200))).get()) << "200 ms";
  EXPECT_TRUE(Submit(queue, RowsRequest({1, 2}), {.deadline = steady_clock::now() + milliseconds(150)}).get());
}

TEST_F(Batching, CountsWaitingRequestsByTheirOwnSize) {
  record_->row_time = milliseconds(1);
  Queue queue(admission_, Model(1), {});
  EXPECT_TRUE(Submit(queue, RowsRequest(std::vector<float>(400))).get()) << "200 ms";
  EXPECT_TRUE(Submit(queue, RowsRequest({1, 2})).get());
  record_->Set(&FakeRecord::holding, true);
  std::vector<Future> before;
  for (int i = 0; i < 10; ++i) before.push_back(Submit(queue, RowsRequest({1, 2})));
  auto large = Submit(queue, RowsRequest(std::vector<float>(400)),
                      {.deadline = steady_clock::now() + std::chrono::milliseconds(900)});
  record_->Set(&FakeRecord::holding, false);
  EXPECT_TRUE(large.get()) << "10 ms of waiting work and 200 ms of its own";
  for (auto& future : before) EXPECT_TRUE(future.get());
}

TEST_F(Batching, RunsAnUrgentRequestWithoutABatchThatWouldMakeItLate) {
  record_->row_time = milliseconds(40);
  Queue queue(admission_, Model(1), {.max_batch_size = 8});
  const std::vector<float> eight_rows(16);
  EXPECT_TRUE(Submit(queue, RowsRequest(eight_rows)).get()) << "320 ms";
  auto running = Submit(queue, RowsRequest({1, 2}));
  WaitForRuns(2);
  auto mates = Submit(queue, RowsRequest(std::vector<float>(14)));
  auto hurried = Submit(queue, RowsRequest({1, 2}), {.deadline = steady_clock::now() + milliseconds(270)});
  EXPECT_TRUE(hurried.get());
  EXPECT_TRUE(mates.get());
  EXPECT_TRUE(running.get());
  EXPECT_EQ(RowsOfRuns(), (std::vector<int64_t>{8, 1, 1, 7}));
}

TEST_F(Batching, CountsWaitingRequestsAgainstTheDeadline) {
  admission_.SetLimits({.concurrent_runs_max = 1, .simulated_run = milliseconds(20)});
  Queue queue(admission_, Model(1), {});
  EXPECT_TRUE(Submit(queue, RowsRequest({1, 2})).get());
  std::vector<Future> before;
  for (int i = 0; i < 10; ++i) before.push_back(Submit(queue, RowsRequest({1, 2})));
  const auto soon = [] { return steady_clock::now() + milliseconds(100); };
  EXPECT_EQ(Submit(queue, RowsRequest({1, 2}), {.deadline = soon()}).get().error().code, Code::kDeadlineExceeded);
  EXPECT_TRUE(Submit(queue, RowsRequest({1, 2}), {.deadline = soon(), .priority = 9}).get()) << "it overtakes them";
  for (auto& future : before) EXPECT_TRUE(future.get());
}

TEST_F(Batching, ACancelledRequestLeavesTheQueueWithoutRunning) {
  record_->Set(&FakeRecord::holding, true);
  Queue queue(admission_, Model(1), {.queue_max = 1});
  auto running = Submit(queue, RowsRequest({1, 2}));
  WaitForRuns(1);
  std::stop_source client;
  auto waiting = Submit(queue, RowsRequest({3, 4}), {.cancelled = client.get_token()});
  EXPECT_EQ(admission_.load().queued, 1);
  client.request_stop();
  ASSERT_EQ(waiting.wait_for(milliseconds(0)), std::future_status::ready);
  EXPECT_EQ(waiting.get().error().code, Code::kCancelled);
  EXPECT_EQ(admission_.load().queued, 0);
  EXPECT_EQ(Submit(queue, RowsRequest({3, 4}), {.cancelled = client.get_token()}).get().error().code, Code::kCancelled);
  auto next = Submit(queue, RowsRequest({5, 6}));
  record_->Set(&FakeRecord::holding, false);
  EXPECT_TRUE(running.get());
  EXPECT_TRUE(next.get()) << "its place in the queue is free";
  EXPECT_EQ(record_->runs.size(), 2u);
}

TEST_F(Batching, AHigherPriorityDisplacesALowerOneInAFullQueue) {
  record_->Set(&FakeRecord::holding, true);
  Queue queue(admission_, Model(1), {.queue_max = 1});
  auto running = Submit(queue, RowsRequest({1, 2}));
  WaitForRuns(1);
  auto low = Submit(queue, RowsRequest({3, 4}));
  auto high = Submit(queue, RowsRequest({5, 6}), {.priority = 1});
  ASSERT_EQ(low.wait_for(milliseconds(0)), std::future_status::ready);
  EXPECT_EQ(low.get().error().code, Code::kUnavailable);
  EXPECT_EQ(admission_.load().refused, 1);
  EXPECT_EQ(admission_.load().queued, 1);
  record_->Set(&FakeRecord::holding, false);
  EXPECT_TRUE(high.get());
  EXPECT_TRUE(running.get());
}

TEST_F(Batching, OneFailingRequestOfManyCausesFewFurtherRuns) {
  Queue queue(admission_, Model(1), {.max_batch_size = 64, .max_delay = hours(1)});
  std::vector<Future> futures;
  for (int i = 0; i < 64; ++i) {
    const auto number = static_cast<float>(i);
    futures.push_back(Submit(queue, RowsRequest({i == 37 ? kPoison : number, number})));
  }
  for (int i = 0; i < 64; ++i) {
    const auto outcome = futures[static_cast<size_t>(i)].get();
    ASSERT_EQ(outcome.has_value(), i != 37);
    const auto number = static_cast<float>(i);
    if (i == 37) continue;
    EXPECT_EQ(Answer(outcome), (std::vector<float>{2 * number + 1, 2 * number + 1}));
  }
  EXPECT_EQ(record_->runs.size(), 13u) << "the whole batch, and two halves at each of six levels";
}

TEST_F(Batching, DoesNotRetryErrorsThatARequestCannotCause) {
  Queue queue(admission_, Model(1), {.max_batch_size = 4, .max_delay = hours(1)});
  std::vector<Future> futures;
  for (const float number : {1.0f, models::kOverload, 3.0f, 4.0f})
    futures.push_back(Submit(queue, RowsRequest({number, 0})));
  for (auto& future : futures) EXPECT_EQ(future.get().error().code, Code::kUnavailable);
  EXPECT_EQ(RowsOfRuns(), std::vector<int64_t>{4});
}

TEST_F(Batching, RetriedBatchesArePaddedToTheirOwnSize) {
  Queue queue(admission_, Model(1), {.max_batch_size = 4, .max_delay = hours(1), .allowed_batch_sizes = {2, 4}});
  std::vector<Future> futures;
  for (const float number : {1.0f, kPoison, 3.0f, 4.0f}) futures.push_back(Submit(queue, RowsRequest({number, 0})));
  for (auto& future : futures) future.wait();
  EXPECT_EQ(RowsOfRuns(), (std::vector<int64_t>{4, 2, 2, 2, 2, 1}))
      << "the whole batch, two halves, each request of the first half, and the failed one without padding";
}

TEST_F(Batching, SplitsALargeRequestIntoBatchesAndJoinsItsAnswer) {
  Queue queue(admission_, Model(1), {.max_batch_size = 2, .request_rows_max = 7});
  std::vector<float> numbers, answers;
  for (int i = 0; i < 14; ++i) {
    numbers.push_back(static_cast<float>(i));
    answers.push_back(2 * numbers.back() + 1);
  }
  const auto outcome = Submit(queue, RowsRequest(numbers)).get();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(Answer(outcome), answers);
  EXPECT_EQ(outcome->outputs.at("y").shape(), (tensor::Shape{7, 2}));
  EXPECT_EQ(RowsOfRuns(), (std::vector<int64_t>{2, 2, 2, 1}));
  numbers.resize(16);
  EXPECT_EQ(Submit(queue, RowsRequest(numbers)).get().error().message,
            "Task size 8 is larger than maximum input batch size 7");
}

TEST_F(Batching, ALargeRequestReportsItsLargestBatchAndLongestFillTime) {
  Queue queue(
      admission_, Model(1),
      {.max_batch_size = 4, .max_delay = milliseconds(20), .allowed_batch_sizes = {2, 4}, .request_rows_max = 7});
  const auto outcome = Submit(queue, RowsRequest(std::vector<float>(14))).get();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->batch_rows, 4);
  EXPECT_EQ(outcome->padded_rows, 4);
  EXPECT_GE(outcome->fill_time, milliseconds(20)) << "its last three rows waited for their batch to fill";
  EXPECT_LE(outcome->fill_time, outcome->queue_time);
}

TEST_F(Batching, ALargeRequestIsQueuedAsAWholeOrRefused) {
  record_->Set(&FakeRecord::holding, true);
  Queue queue(admission_, Model(1), {.max_batch_size = 2, .queue_batches_max = 2, .request_rows_max = 100});
  auto running = Submit(queue, RowsRequest({1, 2}));
  WaitForRuns(1);
  EXPECT_EQ(Submit(queue, RowsRequest(std::vector<float>(10))).get().error().code, Code::kUnavailable);
  EXPECT_EQ(admission_.load().queued, 0);
  auto fits = Submit(queue, RowsRequest(std::vector<float>(8)));
  record_->Set(&FakeRecord::holding, false);
  EXPECT_EQ(Answer(fits.get()).size(), 8u);
  EXPECT_TRUE(running.get());
}

TEST_F(Batching, ALargeRequestFailsWithItsPartAndRunsWholeIfOutputsHaveNoRows) {
  Queue queue(admission_, Model(1), {.max_batch_size = 2, .request_rows_max = 100});
  EXPECT_EQ(Submit(queue, RowsRequest({1, 2, 3, 4, 5, 6, kPoison, 8, 9, 10})).get().error().message, "poison");
  record_->Set(&FakeRecord::scalars, true);
  EXPECT_EQ(Answer(Submit(queue, RowsRequest({7, 2, 3, 4, 5, 6})).get()), std::vector<float>{7});
  EXPECT_EQ(RowsOfRuns().back(), 3);
}

// The answers come from a thread of the engine or, after a simulated run, from the timer's.
TEST_F(Batching, ACallbackThatThrowsDoesNotAffectOtherRequests) {
  for (const auto simulated_run : {milliseconds(0), milliseconds(1)}) {
    admission_.SetLimits({.concurrent_runs_max = 1, .simulated_run = simulated_run});
    Queue queue(admission_, Model(1), {.max_batch_size = 2, .max_delay = hours(1)});
    std::vector<Future> others;
    for (int i = 0; i < 8; ++i) {
      queue.Submit(RowsRequest({1, 2}), {}, [](const auto&) { throw std::bad_alloc(); });
      others.push_back(Submit(queue, RowsRequest({1, 2})));
    }
    for (auto& other : others) EXPECT_EQ(Answer(other.get()), (std::vector<float>{3, 5}));
  }
  EXPECT_EQ(admission_.load().running, 0);
  EXPECT_EQ(admission_.load().queued, 0);
}

TEST_F(Batching, ACallbackThatThrowsLosesNoRunThatItsThreadHasYetToStart) {
  Queue queue(admission_, std::make_shared<ThreeMinuteModel>(), {});
  Future next;
  queue.Submit(RowsRequest({1, 2}), {}, [&](const auto&) {
    next = Submit(queue, RowsRequest({1, 2}));
    EXPECT_EQ(admission_.load().running, 1) << "the next run has its slot, and begins after this callback";
    throw std::bad_alloc();
  });
  EXPECT_TRUE(next.get());
  EXPECT_TRUE(Submit(queue, RowsRequest({1, 2})).get()) << "the slot is free again";
}

// The stack would overflow if each run began within the callback of the one before.
TEST_F(Batching, RequestsOfCallbacksRunAfterTheCallbacks) {
  std::atomic<int> left = 20000;
  std::function<void()> next;
  Queue queue(admission_, std::make_shared<ThreeMinuteModel>(), {});
  next = [&] {
    queue.Submit(RowsRequest({1, 2}), {}, [&](const Result<RunOutcome>& outcome) {
      EXPECT_TRUE(outcome);
      if (--left > 0) return next();
      left.notify_all();
    });
  };
  next();
  for (int now = left; now != 0; now = left) left.wait(now);
}

// Several client threads cancel at random moments, before, while and after their requests wait: every request is
// answered once, with its own rows or with an error, and the queue is empty at the end.
TEST_F(Batching, ConcurrentCancellationsLeaveTheQueueEmpty) {
  admission_.SetLimits({.concurrent_runs_max = 2});
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Queue queue(admission_, Model(1), {.max_batch_size = 8, .max_delay = std::chrono::microseconds(200)});
  std::atomic<int> cancelled{0};
  const auto client = [&](unsigned at) {
    std::mt19937 random(seed + at);
    for (int round = 0; round < 60; ++round) {
      std::vector<std::stop_source> sources(10);
      std::vector<Future> futures;
      if (random() % 4 == 0) sources[0].request_stop();
      for (auto& source : sources) {
        futures.push_back(Submit(queue, RowsRequest({static_cast<float>(at), 1}),
                                 {.priority = static_cast<int>(random() % 3), .cancelled = source.get_token()}));
      }
      std::thread killer([&] {
        for (auto& source : sources) source.request_stop();
      });
      for (auto& future : futures) {
        const auto outcome = future.get();
        if (outcome) {
          ASSERT_EQ(Answer(outcome), (std::vector<float>{2 * static_cast<float>(at) + 1, 3}));
        } else {
          ASSERT_EQ(outcome.error().code, Code::kCancelled);
          ++cancelled;
        }
      }
      killer.join();
    }
  };
  std::vector<std::thread> clients;
  for (unsigned i = 0; i < 4; ++i) clients.emplace_back(client, i);
  for (auto& thread : clients) thread.join();
  EXPECT_GT(cancelled, 0);
  EXPECT_EQ(admission_.load().queued, 0);
}

// Requests of random sizes from several threads for three versions: every answer has the rows of its own request,
// computed by the right version, although one request in fifty makes its batch fail.
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
