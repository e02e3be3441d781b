// Runs every op, compiled, with inputs that have no elements but large sizes in other dimensions: a run must use little
// memory.
#include <gtest/gtest.h>

#include "common/heap_testing/heap.h"
#include "serving-node/engine/cpu/compiled.h"
#include "serving-node/engine/interpreter/empty_shapes.h"
#include "serving-node/engine/interpreter/one_op.h"
#include "tests/seeds/seeds.h"

namespace longshore::engine::cpu {
namespace {

constexpr int kTriesPerCase = 2;
constexpr size_t kRunBytesMax = 64 << 10;
constexpr size_t kPeakBytesMax = size_t{32} << 20;

std::string ShapesOf(const std::map<std::string, Tensor>& fed) {
  std::string text;
  for (const auto& [name, value] : fed) text += name + tensor::ToString(value.shape()) + " ";
  return text;
}

TEST(EmptyInputs, OfAnySizesUseLittleMemoryInCompiledRuns) {
  interpreter::EmptyShapes shapes(seeds::First());
  size_t refused = 0, answered = 0;
  for (const auto& json : interpreter::OpCases()) {
    const interpreter::OneOp one(json);
    const auto plan = one.MakePlan();
    if (!plan) continue;
    Resources resources;
    const Compiled compiled(plan->ToGraph(), ExecutionOptions(), std::make_shared<RunMemory>(),
                            std::make_shared<Weights>());
    for (int i = 0; i < kTriesPerCase; ++i) {
      const auto fed = shapes.Mutate(one.fed);
      const heap_testing::PeakBytes peak;
      ++(compiled.Run(fed, {}, resources, kRunBytesMax) ? answered : refused);
      EXPECT_LT(peak.bytes(), kPeakBytesMax)
          << json.at("at") << ": " << json.at("op") << ", try " << i << ": " << ShapesOf(fed);
    }
  }
  EXPECT_GT(refused, 500U);
  EXPECT_GT(answered, 500U);
}

}  // namespace
}  // namespace longshore::engine::cpu
