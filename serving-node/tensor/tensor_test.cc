#include "serving-node/tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::tensor {
namespace {

using testing::ElementsAre;

TEST(DType, HasTensorFlowsNames) {
  EXPECT_EQ(DTypeName(DType::kBfloat16), "DT_BFLOAT16");
  EXPECT_EQ(ShortName(DType::kBfloat16), "bfloat16");
}

TEST(Tensor, RejectsInvalidShapes) {
  EXPECT_EQ(Tensor::Make(DType::kFloat, {2, -1}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(Tensor::Make(DType::kFloat, {int64_t{1} << 32, int64_t{1} << 32}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(Tensor::Make(DType::kFloat, Shape(kRankMax + 1, 1)).error().code, Code::kInvalidArgument);
}

TEST(Tensor, RejectsMoreBytesThanTheLimit) {
  const auto limit = static_cast<int64_t>(kTensorBytesMax);
  EXPECT_EQ(Tensor::Make(DType::kFloat, {limit / 4 + 1}).error().code, Code::kResourceExhausted);
  EXPECT_EQ(Tensor::Make(DType::kString, {limit / 8}).error().code, Code::kResourceExhausted);
}

TEST(Tensor, RejectsTypesWithoutValues) {
  EXPECT_EQ(Tensor::Make(DType::kResource, {}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(Tensor::Make(DType::kInvalid, {}).error().code, Code::kInvalidArgument);
}

TEST(Tensor, HasOneElementWithoutDimensionsAndNoElementsWithASizeOfZero) {
  EXPECT_EQ(Tensor::Make(DType::kFloat, {})->elements(), 1);
  const auto nothing = Tensor::Make(DType::kFloat, {3, 0});
  EXPECT_EQ(nothing->elements(), 0);
  EXPECT_TRUE(nothing->values<float>().empty());
}

TEST(Tensor, SharesItsBufferWithRowsAndReshapedTensors) {
  auto whole = Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor rows = whole.Rows(1, 3);
  const auto flat = whole.Reshaped({6});
  whole.mutable_values<float>()[2] = 30;
  EXPECT_THAT(rows.values<float>(), ElementsAre(30, 4, 5, 6));
  EXPECT_EQ(rows.shape(), (Shape{2, 2}));
  EXPECT_EQ(flat->values<float>()[2], 30);
}

TEST(Tensor, TakesRowsOfStrings) {
  const auto whole = Tensor::Of<std::string>({3}, {"a", "b", "c"});
  EXPECT_THAT(whole.Rows(1, 2).values<std::string>(), ElementsAre("b"));
  EXPECT_TRUE(whole.Rows(3, 3).values<std::string>().empty());
}

TEST(Tensor, RejectsReshapingToAnotherElementCount) {
  EXPECT_EQ(Tensor::Of<float>({2}, {1, 2}).Reshaped({3}).error().message, "a tensor of shape [2] cannot become [3]");
}

TEST(Tensor, RowsOutliveTheTensorThatTheyAreTakenFrom) {
  Tensor rows;
  {
    const auto whole = Tensor::Of<std::string>({2}, {"a rather long text, not held in place", "b"});
    rows = whole.Rows(0, 1);
  }
  EXPECT_EQ(rows.values<std::string>()[0], "a rather long text, not held in place");
}

}  // namespace
}  // namespace longshore::tensor
