// Runs every op with random invalid inputs: the result is an answer or an error, never a crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "common/heap_testing/heap.h"
#include "serving-node/engine/interpreter/empty_shapes.h"
#include "serving-node/engine/interpreter/mutator.h"
#include "serving-node/engine/interpreter/one_op.h"
#include "serving-node/engine/kernels/base/types.h"
#include "tests/seeds/seeds.h"

namespace longshore::engine::interpreter {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

constexpr int kTriesPerCase = 40;
// A random input may ask for an output of a huge size. The op must then fail before it allocates the output.
constexpr size_t kRunBytesMax = 64 << 10;

std::string ShapesOf(const std::map<std::string, Tensor>& fed) {
  std::string text;
  for (const auto& [name, value] : fed) text += name + tensor::ToString(value.shape()) + " ";
  return text;
}

TEST(Fuzz, InvalidInputsCrashNoOp) {
  Mutator mutator(seeds::First());
  size_t refused = 0, answered = 0;
  for (const auto& json : OpCases()) {
    const OneOp one(json);
    const auto plan = one.MakePlan();
    if (!plan) continue;
    for (int i = 0; i < kTriesPerCase; ++i) {
      auto fed = one.fed;
      for (auto& [name, tensor] : fed) tensor = mutator.Mutate(tensor);
      SCOPED_TRACE(json.at("op").get<std::string>());
      kernels::Resources resources;
      const auto result = plan->Run(fed, {}, resources, kRunBytesMax);
      ++(result ? answered : refused);
      if (result) continue;
      EXPECT_NE(result.error().message.find("(node \""), std::string::npos) << result.error().message;
    }
  }
  EXPECT_GT(refused, 1000U);
  EXPECT_GT(answered, 1000U);
}

// The memory that a kernel may use for inputs without elements: enough for a table with a few machine words for each
// position along an axis of the largest such input that CheckEmptyInputs permits (for example, of shape [N, 0]). It
// does not depend on the memory limit of the run.
constexpr size_t kPeakBytesMax = size_t{16} << 20;
constexpr int kEmptyTriesPerCase = 8;

TEST(Fuzz, EmptyInputsOfAnySizesUseLittleMemory) {
  EmptyShapes shapes(seeds::First());
  size_t refused = 0, answered = 0;
  for (const auto& json : OpCases()) {
    const OneOp one(json);
    const auto plan = one.MakePlan();
    if (!plan) continue;
    for (int i = 0; i < kEmptyTriesPerCase; ++i) {
      const auto fed = shapes.Mutate(one.fed);
      kernels::Resources resources;
      const heap_testing::PeakBytes peak;
      ++(plan->Run(fed, {}, resources, kRunBytesMax) ? answered : refused);
      EXPECT_LT(peak.bytes(), kPeakBytesMax)
          << json.at("at") << ": " << json.at("op") << ", try " << i << ": " << ShapesOf(fed);
    }
  }
  EXPECT_GT(refused, 1000U);
  EXPECT_GT(answered, 1000U);
}

}  // namespace
}  // namespace longshore::engine::interpreter
