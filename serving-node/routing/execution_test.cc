// Tests what counts as evidence about a version: overload and run times.
#include "serving-node/routing/execution.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "serving-node/routing/testing.h"

namespace longshore::routing {
namespace {

using models::FakeRecord;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

class ExecutionTest : public testing::Test {
 protected:
  control::Evidence EvidenceOf(int64_t version) const { return node_.recorder.Snapshot("digits", version); }
  void Hold(bool on) { node_.engine.record().Set(&FakeRecord::holding, on); }
  void WaitForRuns(size_t runs) {
    node_.engine.record().Wait([this, runs] { return node_.engine.record().runs.size() >= runs; });
  }
  // Sends a request whose deadline passes during its run.
  Result<PredictAnswer> RunLate() {
    Hold(true);
    PredictCall call = DigitsCall(0);
    const auto deadline = steady_clock::now() + milliseconds(500);  // Until then the run has begun.
    call.deadline = deadline;
    auto answer = Begin(node_.router, std::move(call));
    WaitForRuns(1);
    while (steady_clock::now() < deadline) std::this_thread::yield();
    Hold(false);
    return answer.get();
  }

  TestDir dir_;
  TestNode node_{dir_.path(), "a", 1};
};

TEST_F(ExecutionTest, ARequestThatAFullQueueRefusesIsOverload) {
  node_.Hold({1, 2}, {.queue_max = 1});
  node_.SetState(TwoVersions(2, 10000));
  Hold(true);
  auto running = Begin(node_.router, Pinned(DigitsCall(0), 1));
  WaitForRuns(1);
  auto waiting = Begin(node_.router, Pinned(DigitsCall(0), 1));
  EXPECT_EQ(Ask(node_.router, DigitsCall(0)).error().code, Code::kUnavailable);
  EXPECT_EQ(Ask(node_.router, Pinned(DigitsCall(0), 2)).error().code, Code::kUnavailable);
  Hold(false);
  EXPECT_TRUE(running.get());
  EXPECT_TRUE(waiting.get());
  EXPECT_EQ(EvidenceOf(2).overloaded(), 1) << "the other request named its version";
  EXPECT_EQ(EvidenceOf(2).requests(), 0);
  EXPECT_EQ(EvidenceOf(1).overloaded(), 0);
}

TEST_F(ExecutionTest, TooLittleMemoryIsOverload) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 10000));
  EXPECT_FALSE(Ask(node_.router, DigitsCall(kNoMemoryHere)));
  EXPECT_EQ(EvidenceOf(4).overloaded(), 1);
  EXPECT_EQ(EvidenceOf(4).errors(), 0);
}

TEST_F(ExecutionTest, ARequestThatIsTooLargeForTheNodeIsNotOverload) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 10000));
  PredictCall call = DigitsCall(0);
  tensorflow::serving::PredictRequest request;
  *request.mutable_model_spec() = call.request.model_spec();
  auto& x = (*request.mutable_inputs())["x"];
  tensor::ToProto(tensor::Tensor::Of<float>({1, 2}, {0, 0}), &x);
  x.mutable_tensor_shape()->mutable_dim(0)->set_size(int64_t{1} << 40);
  call.request = inference::Request::Parse(request).value();
  EXPECT_EQ(Ask(node_.router, std::move(call)).error().code, Code::kResourceExhausted);
  EXPECT_EQ(EvidenceOf(2).overloaded(), 0);
}

TEST_F(ExecutionTest, ADeadlineThatPassedBeforeTheRunIsOverload) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 10000));
  PredictCall call = DigitsCall(0);
  call.deadline = steady_clock::now();
  EXPECT_EQ(Ask(node_.router, std::move(call)).error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(EvidenceOf(2).overloaded(), 1);
}

TEST_F(ExecutionTest, ADeadlineThatPassesDuringTheRunIsOverload) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 10000));
  EXPECT_TRUE(RunLate());
  EXPECT_EQ(EvidenceOf(2).overloaded(), 1);
  EXPECT_EQ(EvidenceOf(2).requests(), 0);
  EXPECT_EQ(EvidenceOf(2).run_times_of_rows_size(), 1) << "the run time counts";
}

TEST_F(ExecutionTest, ADeadlineSaysNothingAboutAVersionThatRunsInBatches) {
  node_.Hold({1, 2}, {.max_batch_size = 4});
  node_.SetState(TwoVersions(2, 10000));
  EXPECT_TRUE(RunLate());
  EXPECT_EQ(EvidenceOf(2).overloaded(), 0);
  EXPECT_EQ(EvidenceOf(2).requests(), 1);
}

TEST_F(ExecutionTest, ARunThatPlannedForNewShapesHasNoRunTime) {
  node_.Hold({1, 2}, {.max_batch_size = 4, .allowed_batch_sizes = {2, 4}});
  node_.SetState(TwoVersions(2, 10000));
  node_.engine.record().Set(&FakeRecord::planning, true);
  EXPECT_TRUE(Ask(node_.router, DigitsCall(0)));
  EXPECT_EQ(EvidenceOf(2).requests(), 1);
  EXPECT_EQ(EvidenceOf(2).run_times_of_rows_size(), 0);
  node_.engine.record().Set(&FakeRecord::planning, false);
  EXPECT_TRUE(Ask(node_.router, DigitsCall(0)));
  ASSERT_EQ(EvidenceOf(2).run_times_of_rows_size(), 1);
  EXPECT_EQ(EvidenceOf(2).run_times_of_rows(0).rows(), 2) << "the rows with padding";
}

}  // namespace
}  // namespace longshore::routing
