#include "serving-node/models/synthetic_request.h"

#include <gmock/gmock.h>

namespace longshore::models {
namespace {

using testing::Each;
using testing::HasSubstr;

tensorflow::TensorInfo InfoOf(tensorflow::DataType type, const tensor::Shape& pattern) {
  tensorflow::TensorInfo info;
  info.set_name("t:0");
  info.set_dtype(type);
  info.mutable_tensor_shape();
  for (const int64_t size : pattern) info.mutable_tensor_shape()->add_dim()->set_size(size);
  return info;
}

std::string RefusalOf(const tensorflow::TensorInfo& info) {
  tensorflow::SignatureDef signature;
  (*signature.mutable_inputs())["x"] = info;
  const auto made = SyntheticRequest("serving_default", signature, 1);
  return made ? "" : made.error().message;
}

TEST(SyntheticRequest, HasTheRequestedRowsOfZerosAndEmptyStrings) {
  tensorflow::SignatureDef signature;
  auto& inputs = *signature.mutable_inputs();
  inputs["image"] = InfoOf(tensorflow::DT_FLOAT, {-1, 2, -1});
  inputs["text"] = InfoOf(tensorflow::DT_STRING, {-1});
  inputs["fixed"] = InfoOf(tensorflow::DT_INT32, {3});
  inputs["flag"] = InfoOf(tensorflow::DT_BOOL, {});
  inputs["given"] = InfoOf(tensorflow::DT_FLOAT, {});
  (*signature.mutable_defaults())["given"];
  const auto made = SyntheticRequest("serving_default", signature, 4);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->signature, "serving_default");
  EXPECT_EQ(made->inputs.size(), 4u);
  EXPECT_EQ(made->inputs.at("image").shape(), (tensor::Shape{4, 2, 1}));
  EXPECT_THAT(made->inputs.at("image").values<float>(), Each(0));
  EXPECT_EQ(made->inputs.at("text").shape(), tensor::Shape{4});
  EXPECT_THAT(made->inputs.at("text").values<std::string>(), Each(""));
  EXPECT_EQ(made->inputs.at("fixed").shape(), tensor::Shape{3});
  EXPECT_FALSE(made->inputs.at("flag").values<bool>()[0]);
}

TEST(SyntheticRequest, IsRefusedIfAnInputCannotBeGenerated) {
  tensorflow::TensorInfo unknown = InfoOf(tensorflow::DT_FLOAT, {});
  unknown.mutable_tensor_shape()->set_unknown_rank(true);
  EXPECT_THAT(RefusalOf(unknown), HasSubstr("input \"x\" cannot be generated"));
  EXPECT_THAT(RefusalOf(InfoOf(tensorflow::DT_RESOURCE, {})), HasSubstr("cannot be generated"));
  EXPECT_THAT(RefusalOf(InfoOf(tensorflow::DT_FLOAT, {1 << 15, 1 << 15})), HasSubstr("too large to be generated"));
  EXPECT_EQ(RefusalOf(InfoOf(tensorflow::DT_FLOAT, {-1})), "");
}

}  // namespace
}  // namespace longshore::models
