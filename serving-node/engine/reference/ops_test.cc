// Every op as a graph of its own, against what TensorFlow answered: tests/golden/engine/ops, by
// tests/models/op_answers.py.
#include <gtest/gtest.h>

#include <set>

#include "serving-node/engine/reference/one_op.h"

namespace longshore::engine::reference {
namespace {

using tensor::Tensor;

Result<std::vector<Tensor>> Answer(const Json& json) {
  const OneOp one(json);
  ASSIGN_OR_RETURN(const Plan plan, one.MakePlan());
  kernels::Resources resources;
  return plan.Run(one.fed, {}, resources);
}

// "" when the answer is TensorFlow's.
std::string Judge(const Json& json) {
  const auto answer = Answer(json);
  if (json.contains("error"))
    return answer ? fmt::format("an answer instead of: {}", json.at("error").get<std::string>()) : "";
  if (!answer) return ToString(answer.error());
  return FirstDifference(*answer, json);
}

TEST(Ops, AnswerAsTensorFlowDoes) {
  for (const auto& json : OpCases()) {
    EXPECT_EQ(Judge(json), "") << json.at("at") << ": " << json.at("op") << " " << json.at("attributes");
  }
}

// Whose answers are tested with whole models: they hold state or lists, run bodies, or have no output to compare.
TEST(Ops, AllHaveAnAnswerToCompareWith) {
  std::set<std::string_view> known = {"Assert",
                                      "AssignVariableOp",
                                      "HashTableV2",
                                      "InitializeTableFromTextFileV2",
                                      "InitializeTableV2",
                                      "LookupTableFindV2",
                                      "LookupTableImportV2",
                                      "LookupTableSizeV2",
                                      "NoOp",
                                      "ReadVariableOp",
                                      "ResourceGather",
                                      "RestoreV2",
                                      "VarHandleOp",
                                      "VarIsInitializedOp",
                                      "VariableShape",
                                      "Const"};
  const Json cases = OpCases();
  for (const auto& json : cases) known.insert(json.at("op").get_ref<const std::string&>());
  for (const auto family : {kernels::ControlKernels, kernels::TensorArrayKernels, kernels::TensorListKernels}) {
    for (const auto& kernel : family()) known.insert(kernel.op);
  }
  for (const auto& kernel : kernels::AllKernels()) EXPECT_TRUE(known.contains(kernel.op)) << kernel.op;
}

}  // namespace
}  // namespace longshore::engine::reference
