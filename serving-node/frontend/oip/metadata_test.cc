#include "serving-node/frontend/oip/metadata.h"

#include <gmock/gmock.h>

#include "serving-node/frontend/oip/codec/message_json.h"
#include "serving-node/tensor/proto.h"

namespace longshore::frontend::oip {
namespace {

tensorflow::SignatureDef Signature() {
  tensorflow::SignatureDef signature;
  auto& b = (*signature.mutable_inputs())["b"];
  b.set_dtype(tensorflow::DT_STRING);
  tensor::ShapeToProto({-1, 4}, b.mutable_tensor_shape());
  auto& a = (*signature.mutable_inputs())["a"];
  a.set_dtype(tensorflow::DT_BFLOAT16);
  a.mutable_tensor_shape()->set_unknown_rank(true);
  (*signature.mutable_defaults())["a"];
  auto& y = (*signature.mutable_outputs())["y"];
  y.set_dtype(tensorflow::DT_COMPLEX64);
  y.mutable_tensor_shape();
  return signature;
}

TEST(Metadata, HasTheTensorsOfTheSignatureInTheOrderOfTheirNames) {
  const auto signature = Signature();
  EXPECT_EQ(codec::MessageToJson(ToMetadata({"m", {2, 10}, signature})),
            R"({"name":"m","versions":["2","10"],"platform":"tensorflow_savedmodel",)"
            R"("inputs":[{"name":"a","datatype":"BF16","shape":[]},{"name":"b","datatype":"BYTES","shape":[-1,4]}],)"
            R"("outputs":[{"name":"y","datatype":"","shape":[]}]})");
}

TEST(Metadata, OfTheConfigurationHasTheSameShapes) {
  const auto signature = Signature();
  const auto config = ToConfig({"m", {2}, signature});
  EXPECT_EQ(config.max_batch_size(), 0);
  EXPECT_TRUE(config.input(0).optional());
  EXPECT_FALSE(config.input(1).optional());
  EXPECT_EQ(config.input(1).data_type(), ::inference::TYPE_STRING);
  EXPECT_THAT(config.input(1).dims(), testing::ElementsAre(-1, 4));
  EXPECT_THAT(config.version_policy().specific().versions(), testing::ElementsAre(2));
}

TEST(Metadata, NeedsTheDefaultSignature) {
  Signatures signatures;
  signatures["other"] = Signature();
  EXPECT_EQ(DefaultSignature(signatures).error(),
            (Error{Code::kFailedPrecondition, "Serving signature key \"serving_default\" not found."}));
}

}  // namespace
}  // namespace longshore::frontend::oip
