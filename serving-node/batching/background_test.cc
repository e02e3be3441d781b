// Background requests: work that no user waits for.
#include <gtest/gtest.h>

#include <future>

#include "serving-node/batching/batching.h"
#include "serving-node/models/fake_engine.h"

namespace longshore::batching {
namespace {

using models::FakeModel;
using models::FakeRecord;
using models::RowsRequest;
using Future = std::future<Result<RunOutcome>>;

class Background : public testing::Test {
 protected:
  static Future Submit(Queue& queue, int rows, Terms terms = {}) {
    auto promise = std::make_shared<std::promise<Result<RunOutcome>>>();
    auto future = promise->get_future();
    queue.Submit(RowsRequest(std::vector<float>(static_cast<size_t>(2 * rows))), std::move(terms),
                 [promise](Result<RunOutcome> outcome) { promise->set_value(std::move(outcome)); });
    return future;
  }
  std::shared_ptr<FakeModel> Model() { return std::make_shared<FakeModel>(1, record_); }
  void Hold(bool on) { record_->Set(&FakeRecord::holding, on); }
  void WaitForRuns(size_t runs) {
    record_->Wait([&] { return record_->runs.size() >= runs; });
  }
  // Starts a request of one row that runs until Hold(false).
  void HoldARun(Queue& queue) {
    Hold(true);
    held_ = Submit(queue, 1);
    WaitForRuns(1);
  }
  std::vector<int64_t> RowsOfRuns() {
    const std::lock_guard lock(record_->mutex);
    std::vector<int64_t> rows;
    for (const auto& run : record_->runs) rows.push_back(run.rows);
    return rows;
  }

  std::shared_ptr<FakeRecord> record_ = std::make_shared<FakeRecord>();
  Future held_;
};

TEST_F(Background, StartsOnlyWhenNoUsersRequestWaits) {
  Admission admission({.concurrent_runs_max = 1});
  Queue queue(admission, Model(), {});
  HoldARun(queue);
  Future background = Submit(queue, 9, {.background = true});
  Future waiting = Submit(queue, 2), last = Submit(queue, 3);
  Hold(false);
  EXPECT_TRUE(background.get());
  EXPECT_EQ(RowsOfRuns(), (std::vector<int64_t>{1, 2, 3, 9}));
}

TEST_F(Background, OfOneVersionStartsOnlyWhenNoUsersRequestOfAnotherOneWaits) {
  Admission admission({.concurrent_runs_max = 1});
  Queue stable(admission, Model(), {}), candidate(admission, Model(), {});
  HoldARun(stable);
  Future background = Submit(candidate, 9, {.background = true});
  Future waiting = Submit(stable, 2), last = Submit(stable, 3);
  Hold(false);
  EXPECT_TRUE(background.get());
  EXPECT_EQ(RowsOfRuns(), (std::vector<int64_t>{1, 2, 3, 9}));
}

TEST_F(Background, LeavesOneSlotFree) {
  Admission admission({.concurrent_runs_max = 2});
  Queue queue(admission, Model(), {});
  HoldARun(queue);
  Future background = Submit(queue, 9, {.background = true});
  Future next = Submit(queue, 2);
  WaitForRuns(2);
  EXPECT_EQ(RowsOfRuns(), (std::vector<int64_t>{1, 2}));
  Hold(false);
  EXPECT_TRUE(background.get());
  EXPECT_EQ(RowsOfRuns(), (std::vector<int64_t>{1, 2, 9}));
}

TEST_F(Background, RunsAloneAlthoughTheQueueBatches) {
  Admission admission({.concurrent_runs_max = 1});
  Queue queue(admission, Model(), {.max_batch_size = 8, .max_delay = std::chrono::hours(1)});
  Future filling = Submit(queue, 1);
  const auto outcome = Submit(queue, 2, {.background = true}).get();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->padded_rows, 0);
  EXPECT_EQ(RowsOfRuns(), std::vector<int64_t>{2}) << "a batch that fills does not wait for a slot";
}

TEST_F(Background, IsNotPartOfTheLoad) {
  Admission admission({.concurrent_runs_max = 1});
  Queue queue(admission, Model(), {});
  Hold(true);
  Future background = Submit(queue, 1, {.background = true});
  WaitForRuns(1);
  EXPECT_EQ(admission.load().running, 0);
  EXPECT_EQ(admission.load().busy_seconds, 0);
  Future waiting_background = Submit(queue, 1, {.background = true});
  EXPECT_EQ(admission.queued(), 0);
  Future user = Submit(queue, 1);
  EXPECT_EQ(admission.queued(), 1) << "the slot is in use";
  Hold(false);
  EXPECT_TRUE(background.get());
  EXPECT_TRUE(waiting_background.get());
  EXPECT_TRUE(user.get());
  EXPECT_EQ(admission.load().started, 1);
}

TEST_F(Background, IsDroppedAtItsDeadlineIfTheNodeStaysBusy) {
  Admission admission({.concurrent_runs_max = 1});
  Queue queue(admission, Model(), {});
  HoldARun(queue);
  const Terms terms{.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(5), .background = true};
  const auto outcome = Submit(queue, 1, terms).get();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(admission.load().refused, 0);
  Hold(false);
}

TEST_F(Background, IsDroppedWhenItsQueueIsDrained) {
  Admission admission({.concurrent_runs_max = 1});
  Queue other(admission, Model(), {});
  Hold(true);
  Future running = Submit(other, 1);
  WaitForRuns(1);
  Future background;
  {
    Queue queue(admission, Model(), {});
    background = Submit(queue, 1, {.background = true});
  }
  EXPECT_FALSE(background.get());
  Hold(false);
}

}  // namespace
}  // namespace longshore::batching
