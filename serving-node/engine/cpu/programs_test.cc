#include "serving-node/engine/cpu/programs.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "serving-node/engine/cpu/cpu.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::engine::cpu {
namespace {

class ProgramsTest : public testing::Test {
 protected:
  // Whether a program had to be made for x of this many rows.
  bool Plans(int64_t rows) {
    const Tensor x = *Tensor::Make(DType::kFloat, {rows});
    const bool is_made = programs_.IfMade({{"x:0", x}}, {}) != nullptr;
    const bool planned = programs_.For({{"x:0", x}}, {}, resources_, SIZE_MAX).planned;
    EXPECT_EQ(planned, !is_made);
    return planned;
  }

 private:
  // y = -x.
  const graph::Graph graph_ = {
      .nodes = {{.name = "x", .op = "Placeholder"}, {.name = "y", .op = "Neg", .inputs = {{0}}}},
      .fed = {{"x:0", 0}},
      .outputs = {{1}},
      .arguments = {},
      .bodies = {}};
  Weights weights_;
  Resources resources_;
  const Programs programs_{graph_, {}, weights_, {}};
};

constexpr int64_t kMax = Programs::Options().programs_max;
constexpr int64_t kKept = kMax * 3 / 4;

TEST_F(ProgramsTest, AClientWithEverNewShapesDoesNotEvictThoseOfOthers) {
  for (int64_t rows = 1; rows <= 2 * kKept; ++rows) EXPECT_EQ(Plans(1 + rows % kKept), rows <= kKept);
  for (int64_t request = 1; request <= 10'000; ++request) {
    EXPECT_TRUE(Plans(1'000 + request));
    if (request % 10 != 0) continue;
    EXPECT_FALSE(Plans(1 + request / 10 % kKept)) << request;
  }
}

TEST_F(ProgramsTest, ANewShapeThatComesAgainIsKept) {
  for (int64_t request = 0; request < 3 * kMax; ++request) Plans(1 + request % kMax);
  for (int64_t request = 0; request < 1'000; ++request) {
    Plans(1'000 + request);
    if (request % 5 != 0) continue;
    EXPECT_EQ(Plans(500), request == 0) << request;
  }
}

TEST_F(ProgramsTest, ProgramsThatAreNoLongerUsedMakeWay) {
  for (int64_t request = 0; request < 100'000; ++request) Plans(1 + request % kKept);
  for (int64_t request = 0; request < 100'000; ++request) Plans(1'000 + request % kKept);
  for (int64_t rows = 0; rows < kKept; ++rows) EXPECT_FALSE(Plans(1'000 + rows));
}

// The first run of a shape takes as long as its planning, on an engine thread; the next ones may run at once.
TEST(CpuEngine, PlansOnlyOnItsOwnThreads) {
  const auto engine = MakeEngine({.runs = 1});
  const auto model = engine->Load(source_tree::Root() / "tests/models/half_plus_two_tf2/1", {}).value();
  struct Ran {
    bool here = false;
    bool planned = false;
  };
  const auto run = [&](int64_t rows) {
    RunRequest request{.signature = "serving_default", .inputs = {}, .outputs = {}, .thread = Thread::kCallersIfShort};
    request.inputs.emplace("x", *Tensor::Make(DType::kFloat, {rows}));
    std::promise<Ran> ran;
    model->Run(std::move(request), [&, caller = std::this_thread::get_id()](Result<RunResult> result) {
      ran.set_value({.here = std::this_thread::get_id() == caller, .planned = result->planned});
    });
    return ran.get_future().get();
  };
  for (int i = 0; i < 1'000; ++i) {
    run(64);
    const Ran of_new = run(1 + i % 60);
    EXPECT_FALSE(of_new.here && of_new.planned) << i;
  }
}

}  // namespace
}  // namespace longshore::engine::cpu
