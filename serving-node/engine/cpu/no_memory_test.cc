// Makes each allocation of a run fail in turn: every run is answered exactly once, and the process continues.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <semaphore>

#include "common/heap_testing/heap.h"
#include "serving-node/engine/cpu/cpu.h"
#include "serving-node/engine/host/host.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::engine::cpu {
namespace {

RunRequest Images(int64_t count, Thread thread) {
  return {.signature = "serving_default",
          .inputs = {{"image", tensor::Tensor::Of<float>({count, 8, 8, 1},
                                                         std::vector<float>(static_cast<size_t>(count) * 64, 0.5F))}},
          .outputs = {},
          .thread = thread};
}

struct Answer {
  std::optional<Result<RunResult>> result;
  int calls = 0;
  std::binary_semaphore is_there{0};
};

// Runs the request; on this thread, allocations fail after `successes` successful ones. Returns how many allocations
// failed.
int64_t RunWithoutMemory(LoadedModel& model, RunRequest request, int64_t successes,
                         const std::shared_ptr<Answer>& answer) {
  RunDone done = [answer](Result<RunResult> result) {
    answer->result.emplace(std::move(result));
    ++answer->calls;
    answer->is_there.release();
  };
  const heap_testing::FailingNew no_memory(successes);
  model.Run(std::move(request), std::move(done));
  return no_memory.failures();
}

// Repeats the run with more and more successful allocations until none fails. Increases their number by one at first,
// then in larger and larger steps.
void FailEachAllocation(LoadedModel& model, const RunRequest& request) {
  int64_t failures = 1;
  for (int64_t successes = 0; failures > 0; successes += 1 + successes / 64) {
    const auto answer = std::make_shared<Answer>();
    failures = RunWithoutMemory(model, request, successes, answer);
    answer->is_there.acquire();
    ASSERT_EQ(answer->calls, 1) << successes;
    if (failures == 0) {
      EXPECT_TRUE(*answer->result) << ToString(answer->result->error());
    } else if (!*answer->result) {
      EXPECT_EQ(answer->result->error().code, Code::kResourceExhausted) << ToString(answer->result->error());
    }
  }
}

class NoMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!heap_testing::kIsReplaced) GTEST_SKIP() << "the sanitizer's operator new cannot be made to fail";
  }
  static std::shared_ptr<LoadedModel> Load(Engine& engine) {
    return engine.Load(source_tree::Root() / "tests/models/digits/2", {}).value();
  }
};

TEST_F(NoMemory, ARunOfTheReferenceEngineIsAnswered) {
  const auto engine = host::MakeEngine({.threads = 1});
  FailEachAllocation(*Load(*engine), Images(2, Thread::kCallers));
}

// A run that compiles its program is not tested: oneDNN 3 ends the process if an allocation fails while it makes a
// primitive, because a std::promise of its cache allocates in its destructor.
TEST_F(NoMemory, ARunOfACompiledProgramIsAnswered) {
  const auto engine = MakeEngine({.runs = 1});
  const auto model = Load(*engine);
  ASSERT_TRUE(RunAndWait(*model, Images(2, Thread::kCallers)));
  FailEachAllocation(*model, Images(2, Thread::kCallers));
}

TEST_F(NoMemory, ARunThatCannotBeQueuedIsAnswered) {
  const auto engine = host::MakeEngine({.threads = 1});
  FailEachAllocation(*Load(*engine), Images(2, Thread::kEngines));
}

}  // namespace
}  // namespace longshore::engine::cpu
