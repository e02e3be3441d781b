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

// What the op answers in each of so many runs of one model.
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

// Half and bfloat16: the same bits, but for NaN and the sign of zero.
std::string FirstDifferenceOfShort(const Tensor& given, const Tensor& wanted) {
  const auto widen = wanted.type() == DType::kHalf ? tensor::HalfToFloat : tensor::Bfloat16ToFloat;
  for (int64_t i = 0; i < wanted.elements(); ++i) {
    const float x = widen(reinterpret_cast<const uint16_t*>(given.data())[i]);
    const float y = widen(reinterpret_cast<const uint16_t*>(wanted.data())[i]);
    if (x != y && !(std::isnan(x) && std::isnan(y))) return fmt::format("at {}: {} instead of {}", i, x, y);
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
  if (given.type() == DType::kHalf || given.type() == DType::kBfloat16) return FirstDifferenceOfShort(given, wanted);
  if (given.type() == DType::kString) return FirstDifference<std::string>(given, wanted);
  switch (tensor::ElementBytes(given.type())) {
    case 1: return FirstDifference<int8_t>(given, wanted);
    case 2: return FirstDifference<int16_t>(given, wanted);
    case 4: return FirstDifference<int32_t>(given, wanted);
    default: return FirstDifference<int64_t>(given, wanted);
  }
}

std::string FirstDifferenceOfAll(const std::vector<Tensor>& given, const Json& wanted) {
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string difference = Difference(given[i], TensorOf(wanted[i]));
    if (!difference.empty()) return fmt::format("output {} {}", i, difference);
  }
  return "";
}

// "" when the answers are TensorFlow's: "outputs" of the first run, "later" of those after it.
std::string Judge(const Json& json) {
  const Json later = json.value("later", Json::array());
  const auto answers = Answers(json, 1 + later.size());
  if (json.contains("error"))
    return answers ? fmt::format("an answer instead of: {}", json.at("error").get<std::string>()) : "";
  if (!answers) return ToString(answers.error());
  for (size_t run = 0; run < answers->size(); ++run) {
    const std::string difference =
        FirstDifferenceOfAll((*answers)[run], run == 0 ? json.at("outputs") : later[run - 1]);
    if (!difference.empty()) return fmt::format("run {}: {}", run, difference);
  }
  return "";
}

TEST(Ops, AnswerAsTensorFlowDoes) {
  for (const auto& json : OpCases()) {
    EXPECT_EQ(Judge(json), "") << json.at("at") << ": " << json.at("op") << " " << json.at("attributes");
  }
}

// Whose answers are tested with whole models: they hold state, or have no output to compare.
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
  for (const auto& kernel : kernels::AllKernels()) EXPECT_TRUE(known.contains(kernel.op)) << kernel.op;
}

}  // namespace
}  // namespace longshore::engine::reference
