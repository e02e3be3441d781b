// Compares every op with TensorFlow's answers in tests/golden/engine/ops, which tests/models/op_answers.py wrote.
#include "serving-node/graph/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "serving-node/engine/interpreter/differences.h"
#include "serving-node/engine/interpreter/error_difference.h"
#include "serving-node/engine/interpreter/one_op.h"
#include "serving-node/engine/kernels/registry.h"

namespace longshore::engine::interpreter {
namespace {

using tensor::Tensor;

// The outputs of the op in each of `runs` runs of one model.
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

// The first difference from TensorFlow's answers; "" if equal. The case has "outputs" for the first run and "later" for
// the following ones.
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

// There are no golden answers for these inputs, because they crash TensorFlow.
TEST(Ops, RejectInputsThatCrashTensorFlow) {
  const std::string one = R"({"type": 1, "shape": [1,1], "values": [1]})",
                    row = R"({"type": 1, "shape": [1], "values": [1]})";
  const std::string weights = R"({"type": 1, "shape": [2,4], "values": [1]}, )" + row + "," + row + "," + row +
                              R"(, {"type": 1, "shape": [4], "values": [1]})";
  const auto refusal = [](const std::string& op, const std::string& attributes, const std::string& inputs) {
    const auto answers = Answers(
        *ParseJson(fmt::format(R"({{"op": "{}", "attributes": {{{}}}, "inputs": [{}]}})", op, attributes, inputs)), 1);
    return answers ? "" : answers.error().message;
  };
  for (const char* length : {"-1", "2"}) {
    EXPECT_THAT(refusal("BlockLSTM", R"("T": "type: DT_FLOAT")",
                        fmt::format(R"({{"type": 9, "shape": [], "values": [{}]}}, )", length) +
                            R"({"type": 1, "shape": [1,1,1], "values": [1]}, )" + one + "," + one + "," + weights),
                testing::HasSubstr("seq_len_max must be between 0 and 1 but is"));
  }
  EXPECT_THAT(refusal("LSTMBlockCell", R"("T": "type: DT_FLOAT")", row + "," + one + "," + one + "," + weights),
              testing::HasSubstr("x must be DT_FLOAT of rank 2, not DT_FLOAT[1]"));
  const std::string ends = R"({"type": 1, "shape": [1,2], "values": [1]})";
  EXPECT_THAT(refusal("Dequantize", R"("T": "type: DT_QINT8", "axis": "i: 0")",
                      R"({"type": 11, "shape": [2], "values": [1]}, )" + ends + "," + ends),
              testing::HasSubstr("must be 2 floats in a vector"));
}

// Cases with an error do not count. The ops in `known` read files or have no output to compare:
// tests/judge/ops_covered_test.py requires a model with each of them.
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

// A misspelt row would have no kernel. Ops with an effect need none: a model that has such an op is rejected, which
// pruning must not hide.
TEST(Ops, OfTheGraphLayerHaveAKernelUnlessAPassMakesThemOrTheyHaveAnEffect) {
  for (const graph::Op& op : graph::AllOps()) {
    const bool has_kernel = kernels::FindKernel(op.name) != nullptr;
    EXPECT_TRUE(has_kernel || op.is_fused || op.has_effect) << op.name;
    EXPECT_FALSE(has_kernel && op.is_fused) << op.name;
  }
}

}  // namespace
}  // namespace longshore::engine::interpreter
