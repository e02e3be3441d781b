#include "serving-node/golden_files/columns.h"

#include <gmock/gmock.h>

#include <limits>

#include "serving-node/tensor/proto.h"

namespace longshore::golden_files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

tensorflow::TensorInfo Info(tensorflow::DataType type, const std::optional<tensor::Shape>& pattern) {
  tensorflow::TensorInfo info;
  info.set_dtype(type);
  info.mutable_tensor_shape()->set_unknown_rank(!pattern.has_value());
  if (pattern) tensor::ShapeToProto(*pattern, info.mutable_tensor_shape());
  return info;
}

// The tensor of the first row as the input "x".
Result<tensor::Tensor> Read(const std::string& text, const tensorflow::TensorInfo& info,
                            const std::vector<std::string>& named = {}) {
  ASSIGN_OR_RETURN(auto csv, CsvReader::Open(text, ','));
  ASSIGN_OR_RETURN(Columns columns, FindColumns(csv, "x", named));
  columns.what = "input \"x\"";
  columns.info = info;
  ASSIGN_OR_RETURN(const auto row, csv.Next());
  return TensorOf(columns, csv, *row);
}

template <typename T>
std::vector<T> ValuesOf(const Result<tensor::Tensor>& tensor) {
  EXPECT_TRUE(tensor) << tensor.error().message;
  const auto values = tensor->template values<T>();
  return {values.begin(), values.end()};
}

TEST(Columns, ANumberBecomesARow) {
  const auto x = Read("x\n 1e-1 \n", Info(tensorflow::DT_FLOAT, tensor::Shape{-1}));
  EXPECT_THAT(ValuesOf<float>(x), ElementsAre(0.1F));
  EXPECT_THAT(x->shape(), ElementsAre(1));
  EXPECT_THAT(Read("x\n1\n", Info(tensorflow::DT_FLOAT, tensor::Shape{-1, 1}))->shape(), ElementsAre(1, 1));
  EXPECT_THAT(Read("x\n1\n", Info(tensorflow::DT_FLOAT, tensor::Shape{}))->shape(), ElementsAre());
  EXPECT_THAT(Read("x\n1\n", Info(tensorflow::DT_FLOAT, std::nullopt))->shape(), ElementsAre(1));
}

TEST(Columns, NumberedColumnsAreTheElementsInTheirOrder) {
  const auto x = Read("x[1],id,x[0],x[2],x[3]\n2,9,1,3,4\n", Info(tensorflow::DT_FLOAT, tensor::Shape{-1, 2, 2}));
  EXPECT_THAT(ValuesOf<float>(x), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(x->shape(), ElementsAre(1, 2, 2));
  EXPECT_THAT(Read("x[0],x[1]\n1,2\n", Info(tensorflow::DT_FLOAT, tensor::Shape{-1, -1}))->shape(), ElementsAre(1, 2));
}

TEST(Columns, NamedColumnsAreTheElements) {
  const auto x = Read("a,b\n1,2\n", Info(tensorflow::DT_FLOAT, tensor::Shape{-1, 2}), {"b", "a"});
  EXPECT_THAT(ValuesOf<float>(x), ElementsAre(2, 1));
}

TEST(Columns, AListInACellHasTheShapeOfARow) {
  const auto x = Read("x\n\"[[1, 2], [3, 4]]\"\n", Info(tensorflow::DT_INT64, tensor::Shape{-1, 2, 2}));
  EXPECT_THAT(ValuesOf<int64_t>(x), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(x->shape(), ElementsAre(1, 2, 2));
}

TEST(Columns, TextsKeepTheirBytesAndMayLookLikeLists) {
  const auto text = Info(tensorflow::DT_STRING, tensor::Shape{-1});
  EXPECT_THAT(ValuesOf<std::string>(Read("x\n\" [1], \"\"a\"\"\nb\"\n", text)), ElementsAre(" [1], \"a\"\nb"));
  EXPECT_THAT(ValuesOf<std::string>(Read("x\n\xFF\x01\n", text)), ElementsAre("\xFF\x01"));
  const auto list = Read("x\n\"[\"\"a\"\", \"\"b\"\"]\"\n", Info(tensorflow::DT_STRING, tensor::Shape{-1, -1}));
  EXPECT_THAT(ValuesOf<std::string>(list), ElementsAre("a", "b"));
}

TEST(Columns, ReadsNumbersAndBoolsAsPandasWritesThem) {
  EXPECT_THAT(ValuesOf<int64_t>(Read("x\n7.0\n", Info(tensorflow::DT_INT64, tensor::Shape{-1}))), ElementsAre(7));
  EXPECT_THAT(ValuesOf<int64_t>(Read("x\n9223372036854775807\n", Info(tensorflow::DT_INT64, tensor::Shape{-1}))),
              ElementsAre(INT64_MAX));
  EXPECT_THAT(ValuesOf<bool>(Read("x\nTrue\n", Info(tensorflow::DT_BOOL, tensor::Shape{-1}))), ElementsAre(true));
  const auto infinite = ValuesOf<double>(Read("x\n-inf\n", Info(tensorflow::DT_DOUBLE, tensor::Shape{-1})));
  EXPECT_EQ(infinite.front(), -std::numeric_limits<double>::infinity());
}

TEST(Columns, AMistakeNamesTheColumnTheCellAndTheInput) {
  const auto message = [](const std::string& text, tensorflow::DataType type, const tensor::Shape& pattern) {
    const auto x = Read(text, Info(type, pattern));
    return x ? "" : x.error().message;
  };
  EXPECT_THAT(message("x\nn/a\n", tensorflow::DT_FLOAT, {-1}),
              HasSubstr("column \"x\": \"n/a\" is not a number; input \"x\" is DT_FLOAT [-1]"));
  EXPECT_THAT(message("x,y\n,1\n", tensorflow::DT_FLOAT, {-1}), HasSubstr("column \"x\": \"\" is empty"));
  EXPECT_THAT(message("x\n1e999\n", tensorflow::DT_FLOAT, {-1}), HasSubstr("is too large"));
  EXPECT_THAT(message("x\n1.5\n", tensorflow::DT_INT32, {-1}), HasSubstr("column \"x\", for input \"x\""));
  EXPECT_THAT(message("x\nyes\n", tensorflow::DT_BOOL, {-1}), HasSubstr("must be true or false"));
  EXPECT_THAT(message("x[0],x[1]\n1,2\n", tensorflow::DT_FLOAT, {-1, 3}),
              HasSubstr("2 values of the shape [2] do not fit DT_FLOAT [-1,3]"));
}

TEST(Columns, AColumnThatCannotBeFoundIsNamed) {
  const auto info = Info(tensorflow::DT_FLOAT, tensor::Shape{-1, 2});
  EXPECT_THAT(Read("a,b\n", info).error().message,
              HasSubstr("there is neither a column \"x\" nor a column \"x[0]\"; the columns are: a, b"));
  EXPECT_THAT(Read("x[0],x[2]\n", info).error().message, HasSubstr("but the column \"x[1]\" is missing"));
  EXPECT_THAT(Read("x,x[0]\n", info).error().message, HasSubstr("keep one of the two"));
  EXPECT_THAT(Read("a\n", info, {"c", "a"}).error().message, HasSubstr("the table has no column \"c\""));
}

}  // namespace
}  // namespace longshore::golden_files
