// Every op as a graph of its own, against what TensorFlow answered: tests/golden/engine/ops.json, by tests/models/op_answers.py.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "common/file.h"
#include "common/json/json.h"
#include "serving-node/engine/reference/plan.h"
#include "serving-node/tensor/half.h"
#include "serving-node/tensor/proto.h"

namespace longshore::engine::reference {
namespace {

using tensor::DType;
using tensor::Tensor;

Json Cases() {
  const auto text = ReadFile(Path(LONGSHORE_SOURCE_DIR) / "tests" / "golden" / "engine" / "ops.json");
  EXPECT_TRUE(text) << ToString(text.error());
  auto cases = ParseJson(*text);
  EXPECT_TRUE(cases) << ToString(cases.error());
  return *cases;
}

// What JSON has no number for is a text: "nan", "inf", "-inf".
double Number(const Json& json) { return json.is_string() ? std::stod(json.get<std::string>()) : json.get<double>(); }

void AddValue(const Json& json, tensorflow::TensorProto* proto) {
  switch (tensor::FromProto(proto->dtype())) {
    case DType::kFloat: return proto->add_float_val(static_cast<float>(Number(json)));
    case DType::kDouble: return proto->add_double_val(Number(json));
    case DType::kHalf: return proto->add_half_val(tensor::FloatToHalf(static_cast<float>(Number(json))));
    case DType::kInt64: return proto->add_int64_val(json.get<int64_t>());
    case DType::kUint32: return proto->add_uint32_val(json.get<uint32_t>());
    case DType::kUint64: return proto->add_uint64_val(json.get<uint64_t>());
    case DType::kBool: return proto->add_bool_val(json.get<bool>());
    case DType::kString: return proto->add_string_val(json.get<std::string>());
    default: return proto->add_int_val(json.get<int32_t>());
  }
}

Tensor TensorOf(const Json& json) {
  tensorflow::TensorProto proto;
  proto.set_dtype(static_cast<tensorflow::DataType>(json.at("type").get<int>()));
  tensor::ShapeToProto(json.at("shape").get<tensor::Shape>(), proto.mutable_tensor_shape());
  for (const auto& value : json.at("values")) AddValue(value, &proto);
  auto made = tensor::FromProto(proto);
  EXPECT_TRUE(made) << ToString(made.error());
  return *made;
}

struct OneOp {
  tensorflow::GraphDef def;
  graph::Wanted wanted;
  std::map<std::string, Tensor> fed;
};

OneOp GraphOf(const Json& json) {
  OneOp made;
  tensorflow::NodeDef node;
  node.set_name("op");
  node.set_op(json.at("op").get<std::string>());
  for (const auto& [name, text] : json.at("attributes").items()) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text.get<std::string>(), &(*node.mutable_attr())[name]));
  }
  for (const auto& input : json.at("inputs")) {
    const std::string name = fmt::format("in{}", made.wanted.feeds.size());
    auto* placeholder = made.def.add_node();
    placeholder->set_name(name);
    placeholder->set_op("Placeholder");
    node.add_input(name);
    made.wanted.feeds.push_back(name);
    made.fed[name] = TensorOf(input);
  }
  *made.def.add_node() = node;
  const size_t outputs = json.contains("outputs") ? json.at("outputs").size() : 1;
  for (size_t i = 0; i < outputs; ++i) made.wanted.outputs.push_back(fmt::format("op:{}", i));
  return made;
}

Result<std::vector<Tensor>> Answer(const Json& json) {
  const OneOp one = GraphOf(json);
  ASSIGN_OR_RETURN(graph::Graph graph, graph::Build(one.def, one.wanted));
  Unsupported unsupported;
  unsupported.Check(graph);
  RETURN_IF_ERROR(unsupported.ToStatus());
  kernels::Resources resources;
  ASSIGN_OR_RETURN(const Plan plan, Plan::Make(std::move(graph), {}, resources));
  return plan.Run(one.fed, {}, resources);
}

// Within 1e-5 of the value, or of one where the sum of larger ones is nearly nothing; NaN is NaN, and zeros have no sign.
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
  if (given.type() != wanted.type()) return fmt::format("{} instead of {}", DTypeName(given.type()), DTypeName(wanted.type()));
  if (given.shape() != wanted.shape()) return fmt::format("{} instead of {}", tensor::ToString(given.shape()), tensor::ToString(wanted.shape()));
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
  if (json.contains("error")) return answer ? fmt::format("an answer instead of: {}", json.at("error").get<std::string>()) : "";
  if (!answer) return ToString(answer.error());
  for (size_t i = 0; i < answer->size(); ++i) {
    const std::string difference = Difference((*answer)[i], TensorOf(json.at("outputs")[i]));
    if (!difference.empty()) return fmt::format("output {} {}", i, difference);
  }
  return "";
}

TEST(Ops, AnswerAsTensorFlowDoes) {
  size_t line = 2;
  for (const auto& json : Cases()) {
    const std::string difference = Judge(json);
    EXPECT_EQ(difference, "") << "tests/golden/engine/ops.json:" << line << ": " << json.at("op") << " " << json.at("attributes");
    ++line;
  }
}

// Whose answers are tested with whole models: they hold state, or have no output to compare.
TEST(Ops, AllHaveAnAnswerToCompareWith) {
  std::set<std::string_view> known = {
      "Assert", "AssignVariableOp", "HashTableV2", "InitializeTableFromTextFileV2", "InitializeTableV2", "LookupTableFindV2",
      "LookupTableImportV2", "LookupTableSizeV2", "NoOp", "ReadVariableOp", "ResourceGather", "RestoreV2", "VarHandleOp",
      "VarIsInitializedOp", "VariableShape", "Const"};
  const Json cases = Cases();
  for (const auto& json : cases) known.insert(json.at("op").get_ref<const std::string&>());
  for (const auto& kernel : kernels::AllKernels()) EXPECT_TRUE(known.contains(kernel.op)) << kernel.op;
}

}  // namespace
}  // namespace longshore::engine::reference
