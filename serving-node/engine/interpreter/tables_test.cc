// Tests lookup tables while a model serves: tables filled at load do not change, and tables made in a run belong to
// that run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "serving-node/engine/interpreter/one_op.h"

namespace longshore::engine::interpreter {
namespace {

// The first golden case that has a node with this op and expects an answer, not an error.
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

TEST(Tables, MadeInARunCanBeFilledByIt) {
  for (const char* op : {"AnonymousHashTable", "AnonymousMutableHashTable", "AnonymousMutableDenseHashTable"}) {
    kernels::Resources resources;
    const auto result = RunWhileServing(OneOp(CaseWith(op)), resources);
    EXPECT_TRUE(result) << ToString(result.error());
    kernels::CountedBuffers counted;
    EXPECT_EQ(resources.memory_bytes(&counted), 0) << "the table is freed with its run";
  }
}

constexpr int kRows = 1000;
constexpr size_t kTableBytes = kRows * (sizeof(int64_t) + sizeof(std::string) + sizeof(int64_t) + sizeof(int64_t));

// A run that makes `tables` tables "table_0", "table_1", ..., and inserts the same thousand rows `times` times into
// each. It reads the sizes after all tables are filled, so that it holds all of them at that time.
OneOp Filling(int tables, int times) {
  std::string graph = R"(node { name: "in0" op: "Placeholder" attr { key: "dtype" value { type: DT_INT64 } } })";
  std::string last = "in0";
  Json fetches = Json::array();
  for (int i = 0; i < tables; ++i) {
    graph += fmt::format(R"(node {{ name: "table_{}" op: "AnonymousMutableHashTable"
                                    attr {{ key: "key_dtype" value {{ type: DT_INT64 }} }}
                                    attr {{ key: "value_dtype" value {{ type: DT_INT64 }} }} }})",
                         i);
    for (int k = 0; k < times; ++k) {
      const std::string insert = fmt::format("insert_{}_{}", i, k);
      graph += fmt::format(R"(node {{ name: "{}" op: "LookupTableInsertV2" input: "table_{}" input: "in0" input: "in0"
                                      input: "^{}" }})",
                           insert, i, last);
      last = insert;
    }
    fetches.push_back(fmt::format("size_{}:0", i));
  }
  for (int i = 0; i < tables; ++i)
    graph +=
        fmt::format(R"(node {{ name: "size_{0}" op: "LookupTableSizeV2" input: "table_{0}" input: "^{1}" }})", i, last);
  std::vector<int64_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), 0);
  return OneOp(
      Json{{"graph", graph}, {"inputs", {{{"type", 9}, {"shape", {kRows}}, {"values", rows}}}}, {"fetches", fetches}});
}

Result<std::vector<tensor::Tensor>> RunWithin(size_t bytes_max, const OneOp& one) {
  ASSIGN_OR_RETURN(const Plan plan, one.MakePlan());
  kernels::Resources resources;
  return plan.Run(one.fed, {}, resources, bytes_max);
}

TEST(Tables, MadeInARunAreLimitedByItsMemory) {
  constexpr size_t kBesides = 100;  // The bytes of the handles and the sizes of the tables.
  EXPECT_TRUE(RunWithin(kTableBytes + kBesides, Filling(1, 1)));
  EXPECT_TRUE(RunWithin(kTableBytes + kBesides, Filling(1, 3))) << "replacing rows needs no more memory";
  EXPECT_TRUE(RunWithin(2 * kTableBytes + kBesides, Filling(2, 1)));
  for (const auto& refused :
       {RunWithin(kTableBytes - 1, Filling(1, 1)), RunWithin(2 * kTableBytes - 1, Filling(2, 1))}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("table \"table_"));
    EXPECT_THAT(refused.error().message, testing::HasSubstr("that are left of the run's memory"));
  }
}

TEST(Tables, GiveTheirMemoryBackToTheRun) {
  kernels::RunTables tables;
  {
    kernels::Table table(tables.count());
    EXPECT_TRUE(table.rows.Add("key", {}, SIZE_MAX));
    EXPECT_GT(tables.bytes(), 0U);
  }
  EXPECT_EQ(tables.bytes(), 0U);
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
}  // namespace longshore::engine::interpreter
