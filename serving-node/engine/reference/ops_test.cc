// Every op as a graph of its own, against what TensorFlow answered: tests/golden/engine/ops, by
// tests/models/op_answers.py.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "serving-node/engine/reference/one_op.h"

namespace longshore::engine::reference {
namespace {

using tensor::DType;
using tensor::Tensor;

Result<std::vector<Tensor>> Answer(const Json& json) {
  const OneOp one(json);
  ASSIGN_OR_RETURN(const Plan plan, one.MakePlan());
  kernels::Resources resources;
  return plan.Run(one.fed, {}, resources);
}

// Within 1e-5 of the value, or of one where the sum of larger ones is nearly nothing; NaN is NaN, and zeros have no
// sign.
bool IsClose(double given, double wanted) {
  if (std::isnan(wanted) || std::isinf(wanted)) return std::isnan(wanted) ? std::isnan(given) : given == wanted;
  return std::fabs(given - wanted) <= 1e-5 * std::fabs(wanted) + 1e-6 * std::min(1.0, std::fabs(wanted) + 1e-3);
}

template <typename T>
std::string FirstDifference(const Tensor& given, const Tensor& wanted) {
  for (int64_t i = 0; i < wanted.elements(); ++i) {
    const T x = reinterpret_cast<const T*>(given.data())[i], y = reinterpret_cast<const T*>(wanted.data())[i];
    bool same = x == y;
    if constexpr (std::is_floating_point_v<T>) same = IsClose(static_cast<double>(x), static_cast<double>(y));
    if (!same) return fmt::format("at {}: {} instead of {}", i, x, y);
  }
  return "";
}

std::string Difference(const Tensor& given, const Tensor& wanted) {
  if (given.type() != wanted.type())
    return fmt::format("{} instead of {}", DTypeName(given.type()), DTypeName(wanted.type()));
  if (given.shape() != wanted.shape())
    return fmt::format("{} instead of {}", tensor::ToString(given.shape()), tensor::ToString(wanted.shape()));
  if (given.type() == DType::kFloat) return FirstDifference<float>(given, wanted);
  if (given.type() == DType::kDouble) return FirstDifference<double>(given, wanted);
  if (given.type() == DType::kString) return FirstDifference<std::string>(given, wanted);
  switch (tensor::ElementBytes(given.type())) {
    case 1: return FirstDifference<int8_t>(given, wanted);
    case 2: return FirstDifference<int16_t>(given, wanted);
    case 4: return FirstDifference<int32_t>(given, wanted);
    default: return FirstDifference<int64_t>(given, wanted);
  }
}

// "" when the answer is TensorFlow's.
std::string Judge(const Json& json) {
  const auto answer = Answer(json);
  if (json.contains("error"))
    return answer ? fmt::format("an answer instead of: {}", json.at("error").get<std::string>()) : "";
  if (!answer) return ToString(answer.error());
  for (size_t i = 0; i < answer->size(); ++i) {
    const std::string difference = Difference((*answer)[i], TensorOf(json.at("outputs")[i]));
    if (!difference.empty()) return fmt::format("output {} {}", i, difference);
  }
  return "";
}

TEST(Ops, AnswerAsTensorFlowDoes) {
  for (const auto& json : OpCases()) {
    EXPECT_EQ(Judge(json), "") << json.at("at") << ": " << json.at("op") << " " << json.at("attributes");
  }
}

// Whose answers are tested with whole models: they read files, or have no output to compare.
TEST(Ops, AllHaveAnAnswerToCompareWith) {
  std::set<std::string> known = {"Assert",
                                 "AssignVariableOp",
                                 "InitializeTableFromTextFile",
                                 "InitializeTableFromTextFileV2",
                                 "NoOp",
                                 "ReadVariableOp",
                                 "ResourceGather",
                                 "RestoreV2",
                                 "VarHandleOp",
                                 "VarIsInitializedOp",
                                 "VariableShape",
                                 "Const"};
  for (const auto& json : OpCases()) {
    const OneOp one(json);
    for (const auto& node : one.def.node()) known.insert(node.op());
  }
  for (const auto& kernel : kernels::AllKernels()) EXPECT_TRUE(known.contains(std::string(kernel.op))) << kernel.op;
}

}  // namespace
}  // namespace longshore::engine::reference
