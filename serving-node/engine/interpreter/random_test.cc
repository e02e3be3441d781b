// Tests properties of random ops. ops_test.cc compares the numbers for a given seed with TensorFlow's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serving-node/engine/interpreter/one_op.h"
#include "serving-node/engine/kernels/registry.h"

namespace longshore::engine::interpreter {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Ge;
using testing::Lt;

std::vector<float> ValuesOf(const Plan& plan, const OneOp& one, kernels::Resources& resources) {
  const auto outputs = plan.Run(one.fed, {}, resources);
  if (!outputs) ADD_FAILURE() << ToString(outputs.error());
  const auto values = (*outputs)[0].values<float>();
  return {values.begin(), values.end()};
}

TEST(Random, DiffersFromRunToRunAndWithoutASeedFromModelToModel) {
  for (const char* seed : {"i: 0", "i: 7"}) {
    const OneOp one(Json{{"op", "RandomUniform"},
                         {"attributes", {{"dtype", "type: DT_FLOAT"}, {"seed", seed}, {"seed2", "i: 0"}}},
                         {"inputs", {{{"type", 3}, {"shape", {1}}, {"values", {100}}}}}});
    const auto plan = one.MakePlan();
    ASSERT_TRUE(plan) << ToString(plan.error());
    kernels::Resources model, other_model;
    const auto first = ValuesOf(*plan, one, model), second = ValuesOf(*plan, one, model),
               other = ValuesOf(*plan, one, other_model);
    EXPECT_THAT(first, Each(AllOf(Ge(0.0F), Lt(1.0F))));
    EXPECT_NE(first, second);
    EXPECT_EQ(first == other, std::string_view(seed) == "i: 7") << "each loaded model starts from the seed";
  }
}

TEST(Random, IsNeverFoldedAtLoad) {
  for (const char* op : {"Multinomial", "RandomShuffle", "RandomStandardNormal", "RandomUniform", "RandomUniformInt",
                         "TruncatedNormal"}) {
    EXPECT_FALSE(kernels::FindKernel(op)->is_foldable) << op;
  }
}

}  // namespace
}  // namespace longshore::engine::interpreter
