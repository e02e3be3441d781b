// What a model restores while it loads: each part of a tensor is read once, and all together is a small multiple of
// what the version stores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serving-node/engine/reference/one_op.h"

namespace longshore::engine::reference {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Of the shape [128,10]: nearly half of what the version stores.
constexpr char kLargest[] = "variables/2/.ATTRIBUTES/VARIABLE_VALUE";

// The part of a tensor, "" for all of it.
struct Asked {
  std::string name = kLargest;
  std::string part;
};

OneOp Restoring(const std::vector<Asked>& asked) {
  Json names = Json::array(), parts = Json::array(), fetches = Json::array();
  std::string graph, types;
  for (const auto& [name, part] : asked) {
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
    auto bundle = saved_model::Bundle::Open(Path(LONGSHORE_SOURCE_DIR) / "tests/models/digits/1/variables/variables");
    ASSERT_TRUE(bundle) << ToString(bundle.error());
    resources_.bundle = std::move(*bundle);
  }

  Result<std::vector<tensor::Tensor>> Run(const std::vector<Asked>& asked) {
    const OneOp one = Restoring(asked);
    ASSIGN_OR_RETURN(const Plan plan, one.MakePlan());
    return plan.Run(one.fed, {}, resources_);
  }

  kernels::Resources resources_;
};

TEST_F(Restore, SharesATensorThatIsAskedForManyTimes) {
  std::vector<Asked> asked;
  for (int i = 0; i < 100; ++i) asked.insert(asked.end(), {{.part = ""}, {.part = "128 10 1,2:-"}});
  const auto values = Run(asked);
  ASSERT_TRUE(values) << ToString(values.error());
  ASSERT_EQ(values->size(), asked.size());
  for (size_t i = 0; i < asked.size(); ++i) EXPECT_EQ((*values)[i].data(), (*values)[i % 2].data());
  EXPECT_EQ((*values)[1].shape(), (tensor::Shape{2, 10}));
  EXPECT_EQ((*values)[1].values<float>()[0], (*values)[0].values<float>()[10]);
}

TEST_F(Restore, IsRefusedWhenPartsAreManyTimesWhatIsStored) {
  std::vector<Asked> asked;
  for (int rows = 100; rows < 128; ++rows) asked.push_back({.part = fmt::format("128 10 0,{}:-", rows)});
  const auto refused = Run(asked);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  const int64_t bytes_max = 4 * resources_.bundle->stored_bytes();
  EXPECT_THAT(refused.error().message, AllOf(StartsWith("op \"RestoreV2\" (node \"restore\"): "),
                                             HasSubstr(fmt::format("more than {} bytes", bytes_max))));
}

TEST_F(Restore, IsRefusedWhenNodesTogetherAskForManyTimesWhatIsStored) {
  int restored = 0;
  while (restored < 100 && Run({{.part = ""}})) ++restored;
  EXPECT_GE(restored, 4);
  EXPECT_LT(restored, 100);
}

}  // namespace
}  // namespace longshore::engine::reference
