// Compares every op with TensorFlow's answers in tests/golden/engine/ops, which tests/models/op_answers.py wrote.
#include "serving-node/graph/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "serving-node/engine/golden_errors/error_difference.h"
#include "serving-node/engine/interpreter/differences.h"
#include "serving-node/engine/interpreter/one_op.h"
#include "serving-node/engine/kernels/registry.h"

namespace longshore::engine::interpreter {
namespace {

using golden_errors::ErrorRows;
using tensor::Tensor;

// Returns the outputs of the op in each of `runs` runs of one model.
Result<std::vector<std::vector<Tensor>>> Answers(const Json& json, size_t runs) {
  const OneOp one(json);
  ASSIGN_OR_RETURN(const Plan plan, one.MakePlan());
  kernels::Resources resources;
  std::vector<std::vector<Tensor>> answers;
  for (size_t i = 0; i < runs; ++i) {
    ASSIGN_OR_RETURN(auto answer, plan.Run(one.fed, {}, resources));
    answers.push_back(std::move(answer));
  }
  return answers;
}

// Returns the first difference from TensorFlow's answers; "" if they are equal. The case has "outputs" for the first
// run and "later" for the following ones.
std::string DifferenceFromTensorFlow(const Json& json, ErrorRows& rows) {
  const Json later = json.value("later", Json::array());
  const auto answers = Answers(json, 1 + later.size());
  if (json.contains("error"))
    return answers ? fmt::format("an answer instead of: {}", json.at("error").get<std::string>())
                   : rows.Difference(json, answers.error());
  if (!answers) return ToString(answers.error());
  for (size_t run = 0; run < answers->size(); ++run) {
    const std::string difference =
        FirstDifferenceOfAll((*answers)[run], run == 0 ? json.at("outputs") : later[run - 1]);
    if (!difference.empty()) return fmt::format("run {}: {}", run, difference);
  }
  return "";
}

TEST(Ops, AnswerAsTensorFlowDoes) {
  ErrorRows rows;
  for (const auto& json : OpCases()) {
    EXPECT_EQ(DifferenceFromTensorFlow(json, rows), "")
        << json.at("at") << ": " << json.at("op") << " " << json.at("attributes");
  }
  EXPECT_THAT(rows.Unused(), testing::IsEmpty());
}

// The message of the error for these attributes and inputs in JSON; "" if there is none.
std::string RefusalOf(const std::string& op, const std::string& attributes, const std::string& inputs) {
  const auto answers = Answers(
      *ParseJson(fmt::format(R"({{"op": "{}", "attributes": {{{}}}, "inputs": [{}]}})", op, attributes, inputs)), 1);
  return answers ? "" : answers.error().message;
}

// These inputs crash TensorFlow, so golden answers do not exist for them.
TEST(Ops, RejectInputsThatCrashTensorFlow) {
  const std::string one = R"({"type": 1, "shape": [1,1], "values": [1]})",
                    row = R"({"type": 1, "shape": [1], "values": [1]})";
  const std::string weights = R"({"type": 1, "shape": [2,4], "values": [1]}, )" + row + "," + row + "," + row +
                              R"(, {"type": 1, "shape": [4], "values": [1]})";
  for (const char* length : {"-1", "2"}) {
    EXPECT_THAT(RefusalOf("BlockLSTM", R"("T": "type: DT_FLOAT")",
                          fmt::format(R"({{"type": 9, "shape": [], "values": [{}]}}, )", length) +
                              R"({"type": 1, "shape": [1,1,1], "values": [1]}, )" + one + "," + one + "," + weights),
                testing::HasSubstr("seq_len_max must be between 0 and 1 but is"));
  }
  EXPECT_THAT(RefusalOf("LSTMBlockCell", R"("T": "type: DT_FLOAT")", row + "," + one + "," + one + "," + weights),
              testing::HasSubstr("x must be DT_FLOAT of rank 2, not DT_FLOAT[1]"));
  const std::string ends = R"({"type": 1, "shape": [1,2], "values": [1]})";
  EXPECT_THAT(RefusalOf("Dequantize", R"("T": "type: DT_QINT8", "axis": "i: 0")",
                        R"({"type": 11, "shape": [2], "values": [1]}, )" + ends + "," + ends),
              testing::HasSubstr("must each be a vector of 2 floats"));
}

TEST(Ops, PrintTheLimitsOfARangeThatIsTooLarge) {
  const std::string ends = R"({"type": 9, "shape": [], "values": [2]}, )"
                           R"({"type": 9, "shape": [], "values": [9000000000000000002]}, )"
                           R"({"type": 9, "shape": [], "values": [3]})";
  for (const char* op : {"Range", "RaggedRange"}) {
    EXPECT_THAT(RefusalOf(op, R"("T": "type: DT_INT64", "Tidx": "type: DT_INT64")", ends),
                testing::AllOf(testing::HasSubstr("numbers is too large: start 2, limit 9000000000000000002, delta 3"),
                               testing::ContainsRegex("a range of (3000000000000000000|3e.18) ")))
        << op;
  }
  EXPECT_THAT(RefusalOf("RaggedRange", R"("T": "type: DT_DOUBLE")",
                        R"({"type": 2, "shape": [], "values": [0.5]}, {"type": 2, "shape": [], "values": [-1e30]}, )"
                        R"({"type": 2, "shape": [], "values": [-2]})"),
              testing::HasSubstr("a range of 5e+29 numbers is too large: start 0.5, limit -1e+30, delta -2"));
}

TEST(Ops, OfAnEinsumSayWhyAnEllipsisDoesNotFit) {
  const auto refusal = [](const std::string& shape) {
    return RefusalOf("Einsum", R"("T": "type: DT_FLOAT", "equation": "s: 'a...->...'")",
                     fmt::format(R"({{"type": 1, "shape": [{}], "values": [1]}})", shape));
  };
  std::string ones = "1";
  for (int i = 0; i < 65; ++i) ones += ",1";
  EXPECT_THAT(refusal(""), testing::HasSubstr("\"a...\" has more axes than the shape []"));
  EXPECT_THAT(refusal(ones), testing::HasSubstr("the ellipsis of \"a...\" would stand for 65 axes of the shape [1,1,"));
}

// Cases with an error do not count. The ops in `known` read files or have no output to compare; for each of them,
// tests/judge/ops_covered_test.py requires a test model.
TEST(Ops, AllHaveAnAnsweredGoldenCase) {
  std::set<std::string> known = {"Assert", "Const",    "InitializeTableFromTextFile", "InitializeTableFromTextFileV2",
                                 "NoOp",   "RestoreV2"};
  for (const auto& json : OpCases()) {
    if (json.contains("error")) continue;
    const OneOp one(json);
    for (const auto& node : one.def.node()) known.insert(node.op());
  }
  for (const auto& kernel : kernels::AllKernels()) EXPECT_TRUE(known.contains(std::string(kernel.op))) << kernel.op;
}

// A misspelt row would have no kernel. The ops in `rejected` have none: their rows keep them from being pruned, so that
// a model with such an op is rejected.
TEST(Ops, OfTheGraphLayerHaveAKernelUnlessAPassMakesThemOrTheyAreRejected) {
  const std::set<std::string_view> rejected = {"AssignAddVariableOp", "AssignSubVariableOp"};
  for (const graph::Op& op : graph::AllOps()) {
    const bool has_kernel = kernels::FindKernel(op.name) != nullptr;
    EXPECT_NE(has_kernel, op.is_fused || rejected.contains(op.name)) << op.name;
    EXPECT_TRUE(op.has_effect || !rejected.contains(op.name)) << op.name;
  }
}

// Merged nodes run once instead of several times, so the op must be a pure function.
TEST(Ops, MayBeMergedOnlyIfTheyAreFoldable) {
  for (const graph::Op& op : graph::AllOps()) {
    if (!op.may_merge) continue;
    const auto* kernel = kernels::FindKernel(op.name);
    EXPECT_TRUE(kernel != nullptr && kernel->is_foldable) << op.name;
    EXPECT_FALSE(op.has_effect) << op.name;
  }
}

}  // namespace
}  // namespace longshore::engine::interpreter
