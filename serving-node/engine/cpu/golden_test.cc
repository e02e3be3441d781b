// Compares compiled programs with TensorFlow's answers, op by op.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "serving-node/engine/cpu/compiled.h"
#include "serving-node/engine/golden_errors/error_difference.h"
#include "serving-node/engine/interpreter/differences.h"
#include "serving-node/engine/interpreter/one_op.h"
#include "serving-node/graph/ops.h"

namespace longshore::engine::cpu {
namespace {

using golden_errors::ErrorRows;
using interpreter::OneOp;

std::string PlaceOf(const Json& json) {
  return fmt::format("{}: {} {}", json.at("at").dump(), json.at("op").dump(), json.at("attributes").dump());
}

Compiled CompiledFrom(const interpreter::Plan& plan, const ExecutionOptions& options) {
  return Compiled(plan.ToGraph(), options, std::make_shared<RunMemory>(), std::make_shared<Weights>());
}

std::string DifferenceFromTensorFlow(const Json& json, OneOp::Fed fed, ErrorRows& rows) {
  const OneOp one(json, fed);
  const auto plan = one.MakePlan({.fold = fed != OneOp::Fed::kAll});
  if (!plan) return json.contains("error") ? rows.Difference(json, plan.error()) : ToString(plan.error());
  Resources resources;
  const auto answer = CompiledFrom(*plan, {}).Run(one.fed, {}, resources, SIZE_MAX);
  if (json.contains("error"))
    return answer ? fmt::format("an answer instead of: {}", json.at("error").get<std::string>())
                  : rows.Difference(json, answer.error());
  return answer ? interpreter::FirstDifferenceOfAll(*answer, json.at("outputs")) : ToString(answer.error());
}

TEST(Compiled, AnswersEveryOpAsTensorFlowDoes) {
  ErrorRows rows;
  for (const auto& json : interpreter::OpCases()) {
    EXPECT_EQ(DifferenceFromTensorFlow(json, OneOp::Fed::kAll, rows), "") << PlaceOf(json);
  }
}

// All inputs except the first are constants, so that passes and steps know their values.
TEST(Compiled, AnswersEveryOpOfConstantsAsTensorFlowDoes) {
  ErrorRows rows;
  for (const auto& json : interpreter::OpCases()) {
    if (json.contains("graph") || json.at("inputs").size() < 2) continue;
    EXPECT_EQ(DifferenceFromTensorFlow(json, OneOp::Fed::kFirst, rows), "") << PlaceOf(json);
  }
}

// Runs the case one row at a time and returns the difference from TensorFlow's answer. Returns nullopt if the case has
// no plan, or if the engine does not cut it into rows.
std::optional<std::string> DifferenceOfSlices(const Json& json, OneOp::Fed fed) {
  const OneOp one(json, fed);
  const auto plan = one.MakePlan({.fold = fed != OneOp::Fed::kAll});
  if (!plan) return std::nullopt;
  Resources resources;
  const Compiled compiled = CompiledFrom(*plan, {.by_row = true});
  if (compiled.Explain(one.fed, {}, resources).rows_at_once == 0) return std::nullopt;
  const auto answer = compiled.Run(one.fed, {}, resources, SIZE_MAX);
  if (json.contains("error")) return answer ? "an answer instead of an error" : "";
  return answer ? interpreter::FirstDifferenceOfAll(*answer, json.at("outputs")) : ToString(answer.error());
}

// A wrong row rule in the op table would make the engine slice a run whose rows influence each other.
TEST(Compiled, AnswersEveryOpAsTensorFlowDoesIfEachRowIsComputedAlone) {
  std::set<std::string> sliced;
  for (const auto& json : interpreter::OpCases()) {
    const bool can_have_constants = !json.contains("graph") && json.at("inputs").size() > 1;
    for (const auto fed : {OneOp::Fed::kAll, OneOp::Fed::kFirst, OneOp::Fed::kSecond, OneOp::Fed::kAllButLast}) {
      if (fed != OneOp::Fed::kAll && !can_have_constants) continue;
      const auto difference = DifferenceOfSlices(json, fed);
      if (!difference) continue;
      EXPECT_EQ(*difference, "") << PlaceOf(json);
      if (!json.contains("error")) sliced.insert(json.at("op").get<std::string>());
    }
  }
  for (const graph::Op& op : graph::AllOps()) {
    EXPECT_TRUE(op.rows == nullptr || sliced.contains(std::string(op.name))) << op.name << " was never sliced";
  }
}

}  // namespace
}  // namespace longshore::engine::cpu
