// Tests that restoring variables at load reads each part of a tensor once, and that all parts together are limited to a
// small multiple of the stored bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serving-node/engine/interpreter/one_op.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::engine::interpreter {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// The name of a variable of shape [128,10], which has nearly half of the stored bytes of the version.
constexpr char kLargest[] = "variables/2/.ATTRIBUTES/VARIABLE_VALUE";

// A part of a variable; if `part` is "", the whole variable.
struct Part {
  std::string name = kLargest;
  std::string part;
};

OneOp Restoring(const std::vector<Part>& wanted) {
  Json names = Json::array(), parts = Json::array(), fetches = Json::array();
  std::string graph, types;
  for (const auto& [name, part] : wanted) {
    fetches.push_back(fmt::format("restore:{}", names.size()));
    names.push_back(name);
    parts.push_back(part);
    types += "type: DT_FLOAT ";
  }
  for (int i = 0; i < 3; ++i)
    graph += fmt::format(
        "node {{ name: 'in{}' op: 'Placeholder' attr {{ key: 'dtype' value {{ type: DT_STRING }} }} }} ", i);
  graph += fmt::format(
      "node {{ name: 'restore' op: 'RestoreV2' input: 'in0' input: 'in1' input: 'in2' attr {{ key: 'dtypes' value {{ "
      "list {{ {} }} }} }} }}",
      types);
  const Json inputs = {{{"type", 7}, {"shape", Json::array()}, {"values", {""}}},
                       {{"type", 7}, {"shape", {names.size()}}, {"values", names}},
                       {{"type", 7}, {"shape", {names.size()}}, {"values", parts}}};
  return OneOp(Json{{"graph", graph}, {"inputs", inputs}, {"fetches", fetches}});
}

class Restore : public testing::Test {
 protected:
  void SetUp() override {
    auto bundle = saved_model::Bundle::Open(source_tree::Root() / "tests/models/digits/1/variables/variables");
    ASSERT_TRUE(bundle) << ToString(bundle.error());
    resources_.bundle = std::move(*bundle);
  }

  Result<std::vector<tensor::Tensor>> Run(const std::vector<Part>& wanted) {
    const OneOp one = Restoring(wanted);
    ASSIGN_OR_RETURN(const Plan plan, one.MakePlan());
    return plan.Run(one.fed, {}, resources_);
  }

  kernels::Resources resources_;
};

TEST_F(Restore, SharesATensorThatIsRestoredManyTimes) {
  std::vector<Part> wanted;
  for (int i = 0; i < 100; ++i) wanted.insert(wanted.end(), {{.part = ""}, {.part = "128 10 1,2:-"}});
  const auto values = Run(wanted);
  ASSERT_TRUE(values) << ToString(values.error());
  ASSERT_EQ(values->size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ((*values)[i].data(), (*values)[i % 2].data());
  EXPECT_EQ((*values)[1].shape(), (tensor::Shape{2, 10}));
  EXPECT_EQ((*values)[1].values<float>()[0], (*values)[0].values<float>()[10]);
}

TEST_F(Restore, FailsIfThePartsOfOneNodeExceedTheStoredBytesManyTimes) {
  std::vector<Part> wanted;
  for (int rows = 100; rows < 128; ++rows) wanted.push_back({.part = fmt::format("128 10 0,{}:-", rows)});
  const auto refused = Run(wanted);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  const int64_t bytes_max = 4 * resources_.bundle->stored_bytes();
  EXPECT_THAT(refused.error().message, AllOf(StartsWith("op \"RestoreV2\" (node \"restore\"): "),
                                             HasSubstr(fmt::format("more than {} bytes", bytes_max))));
}

TEST_F(Restore, FailsIfAllNodesTogetherExceedTheStoredBytesManyTimes) {
  int restored = 0;
  while (restored < 100 && Run({{.part = ""}})) ++restored;
  EXPECT_GE(restored, 4);
  EXPECT_LT(restored, 100);
}

}  // namespace
}  // namespace longshore::engine::interpreter
