// Tests tables that are filled from a text file. tests/judge/judge_text_tables_test.py compares the same rows with
// TensorFlow's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/os/file.h"
#include "serving-node/engine/interpreter/one_op.h"

namespace longshore::engine::interpreter {
namespace {

using tensor::DType;

struct How {
  std::string value = "DT_INT64";
  int64_t key_index = -2, value_index = -1, vocab_size = -1, offset = 0;
  std::string delimiter = "\\t";
};
constexpr auto kFields = [](std::string value) { return How{.value = value, .key_index = 0, .value_index = 1}; };

class TextTables : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(file_); }

  OneOp GraphOf(const How& how) const {
    const std::string graph = fmt::format(
        R"(node {{ name: "in0" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_STRING }} }} }}
           node {{ name: "table" op: "HashTableV2" attr {{ key: "key_dtype" value {{ type: DT_STRING }} }}
                   attr {{ key: "value_dtype" value {{ type: {} }} }} }}
           node {{ name: "fill" op: "InitializeTableFromTextFileV2" input: "table" input: "in0"
                   attr {{ key: "key_index" value {{ i: {} }} }} attr {{ key: "value_index" value {{ i: {} }} }}
                   attr {{ key: "vocab_size" value {{ i: {} }} }} attr {{ key: "offset" value {{ i: {} }} }}
                   attr {{ key: "delimiter" value {{ s: "{}" }} }} }}
           node {{ name: "rows" op: "LookupTableExportV2" input: "table" input: "^fill" }})",
        how.value, how.key_index, how.value_index, how.vocab_size, how.offset, how.delimiter);
    return OneOp(Json{{"graph", graph},
                      {"inputs", {{{"type", 7}, {"shape", Json::array()}, {"values", {file_.string()}}}}},
                      {"fetches", {"rows:0", "rows:1"}}});
  }

  // Returns the rows, such as "a=1 b=2 ", or the error message.
  std::string Rows(std::string_view content, const How& how = {}) const {
    EXPECT_TRUE(WriteFileAtomically(file_, content));
    const OneOp one = GraphOf(how);
    kernels::Resources resources;
    resources.readable_files = {file_.string()};
    const auto rows = one.MakePlan()->Run(one.fed, {}, resources);
    if (!rows) return rows.error().message;
    std::string text;
    for (int64_t i = 0; i < (*rows)[0].elements(); ++i)
      text += fmt::format("{}={} ", (*rows)[0].values<std::string>()[static_cast<size_t>(i)], At((*rows)[1], i));
    return text;
  }

  static std::string At(const tensor::Tensor& values, int64_t at) {
    const auto i = static_cast<size_t>(at);
    switch (values.type()) {
      case DType::kInt32: return fmt::format("{}", values.values<int32_t>()[i]);
      case DType::kInt64: return fmt::format("{}", values.values<int64_t>()[i]);
      case DType::kFloat: return fmt::format("{}", values.values<float>()[i]);
      default: return values.values<std::string>()[i];
    }
  }

  const Path file_ = Path(testing::TempDir()) / fmt::format("text_tables_{}.txt", getpid());
};

TEST_F(TextTables, CanHaveLineNumbersAsValues) {
  EXPECT_EQ(Rows("a\nb\r\n c"), "a=0 b=1  c=2 ");
  EXPECT_EQ(Rows("a\nb\n", {.offset = 5}), "a=5 b=6 ");
  EXPECT_EQ(Rows("a\nb\n", {.offset = INT64_MAX}), "a=9223372036854775807 b=-9223372036854775808 ");
  for (const char* type : {"DT_INT32", "DT_FLOAT", "DT_STRING"})
    EXPECT_THAT(Rows("a\nb\n", {.value = type}), testing::HasSubstr("Value index for line number requires DT_INT64"));
}

TEST_F(TextTables, CanHaveWholeLinesAsValues) {
  EXPECT_EQ(Rows("a b\nc", {.value = "DT_STRING", .value_index = -2}), "a b=a b c=c ");
  EXPECT_EQ(Rows(" 7 ", {.value = "DT_INT32", .value_index = -2}), " 7 =7 ");
  EXPECT_THAT(Rows("7\n", {.value = "DT_FLOAT", .value_index = -2}), testing::HasSubstr("Value index for whole line"));
}

TEST_F(TextTables, CanHaveNumericFieldsAsValues) {
  for (const char* type : {"DT_INT32", "DT_INT64"}) {
    EXPECT_EQ(Rows("a\t 1\nb\t2 \nc\t+3\nd\t-4\ne\t05\n", kFields(type)), "a=1 b=2 c=3 d=-4 e=5 ");
    for (const char* field : {"", " ", "- 1", "+-1", "--1", "1.5", "0x10", "9223372036854775808"})
      EXPECT_THAT(Rows(fmt::format("a\t{}\n", field), kFields(type)), testing::HasSubstr("is not a valid DT_INT"));
  }
  EXPECT_THAT(Rows("a\t2147483648\n", kFields("DT_INT32")), testing::HasSubstr("is not a valid DT_INT32"));
  EXPECT_EQ(Rows("a\t 1.5 \nb\t0x10\nc\t1e39\n", kFields("DT_FLOAT")), "a=1.5 b=16 c=inf ");
  EXPECT_THAT(Rows("a\t1f\n", kFields("DT_FLOAT")), testing::HasSubstr("is not a valid DT_FLOAT"));
}

TEST_F(TextTables, RejectFilesWithAnEmptyLine) {
  for (const char* content : {"a\n\nb\n", "a\nb\n\n", "a\r\n\r\n", "\n"})
    EXPECT_THAT(Rows(content), testing::HasSubstr(": the line is empty")) << content;
  EXPECT_THAT(Rows(""), testing::HasSubstr("has no lines"));
}

TEST_F(TextTables, ReadAsManyLinesAsVocabSize) {
  EXPECT_EQ(Rows("a\n\nb\n", {.vocab_size = 1}), "a=0 ");
  EXPECT_EQ(Rows("a\nb\n", {.vocab_size = 2}), "a=0 b=1 ");
  EXPECT_THAT(Rows("a\nb\n", {.vocab_size = 3}), testing::HasSubstr("expected 3 but got 2"));
  EXPECT_THAT(Rows("", {.vocab_size = 1}), testing::HasSubstr("expected 1 but got 0"));
  for (const int64_t none : {0, -2}) EXPECT_THAT(Rows("a\n", {.vocab_size = none}), testing::HasSubstr("vocab_size"));
}

TEST_F(TextTables, NeedADelimiterOfOneByte) {
  How how = kFields("DT_INT64");
  how.delimiter = ",";
  EXPECT_EQ(Rows("a,1,x\n,2\n", how), "a=1 =2 ");
  EXPECT_THAT(Rows("a\n", how), testing::HasSubstr("line 0: expected at least 2 columns, got 1"));
  for (const char* wrong : {"", "::"}) {
    how.delimiter = wrong;
    EXPECT_THAT(Rows("a::1\n", how), testing::HasSubstr("delimiter should be only 1 char"));
  }
}

}  // namespace
}  // namespace longshore::engine::interpreter
