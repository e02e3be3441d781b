// Tables while a model serves: what it loaded with stays as it is, and what a run makes is its own.
#include <gtest/gtest.h>

#include "serving-node/engine/reference/one_op.h"

namespace longshore::engine::reference {
namespace {

// The first of TensorFlow's cases whose graph has such a node and is answered.
Json CaseWith(const std::string& op) {
  for (const auto& json : OpCases()) {
    if (json.contains("graph") && json.contains("outputs") &&
        json.at("graph").get<std::string>().find("\"" + op + "\"") != std::string::npos)
      return json;
  }
  ADD_FAILURE() << "no case with " << op;
  return {};
}

Result<std::vector<tensor::Tensor>> RunWhileServing(const OneOp& one, kernels::Resources& resources) {
  ASSIGN_OR_RETURN(const Plan plan, one.MakePlan());
  resources.is_serving = true;
  return plan.Run(one.fed, {}, resources);
}

TEST(Tables, AreNotFilledByARequest) {
  for (const char* op : {"HashTableV2", "MutableHashTableV2", "MutableDenseHashTableV2"}) {
    kernels::Resources resources;
    const auto result = RunWhileServing(OneOp(CaseWith(op)), resources);
    ASSERT_FALSE(result) << op;
    EXPECT_EQ(result.error().code, Code::kFailedPrecondition) << ToString(result.error());
  }
}

TEST(Tables, OfARunAreFilledByIt) {
  for (const char* op : {"AnonymousHashTable", "AnonymousMutableHashTable", "AnonymousMutableDenseHashTable"}) {
    kernels::Resources resources;
    const auto result = RunWhileServing(OneOp(CaseWith(op)), resources);
    EXPECT_TRUE(result) << ToString(result.error());
    kernels::CountedBuffers counted;
    EXPECT_EQ(resources.memory_bytes(&counted), 0) << "what a run makes is gone with it";
  }
}

TEST(Tables, CountAsMemoryOfTheModel) {
  const OneOp one(CaseWith("MutableHashTableV2"));
  const auto plan = one.MakePlan();
  ASSERT_TRUE(plan);
  kernels::Resources resources;
  ASSERT_TRUE(plan->Run(one.fed, {}, resources));
  kernels::CountedBuffers counted;
  EXPECT_GT(resources.memory_bytes(&counted), 0);
}

}  // namespace
}  // namespace longshore::engine::reference
