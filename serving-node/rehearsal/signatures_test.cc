#include "serving-node/rehearsal/signatures.h"

#include <gtest/gtest.h>

#include <vector>

namespace longshore::rehearsal {
namespace {

constexpr int64_t kAnyRank = -2;

tensorflow::TensorInfo Info(std::vector<int64_t> shape, tensorflow::DataType type = tensorflow::DT_FLOAT) {
  tensorflow::TensorInfo info;
  info.set_dtype(type);
  if (shape == std::vector{kAnyRank}) {
    info.mutable_tensor_shape()->set_unknown_rank(true);
    return info;
  }
  info.mutable_tensor_shape();  // A scalar has a shape without dimensions.
  for (const int64_t size : shape) info.mutable_tensor_shape()->add_dim()->set_size(size);
  return info;
}

// Both versions have a signature with the input x and the output y, both float [-1,2].
class SignaturesTest : public testing::Test {
 protected:
  SignaturesTest() {
    for (auto* signatures : {&stable_, &candidate_}) {
      auto& signature = (*signatures)["serving_default"];
      (*signature.mutable_inputs())["x"] = Info({-1, 2});
      (*signature.mutable_outputs())["y"] = Info({-1, 2});
    }
  }
  tensorflow::SignatureDef& Candidate() { return candidate_["serving_default"]; }
  std::string WithX(const tensorflow::TensorInfo& info) {
    (*Candidate().mutable_inputs())["x"] = info;
    return SignatureChange(stable_, candidate_);
  }
  Signatures stable_;
  Signatures candidate_;
};

TEST_F(SignaturesTest, AllowMoreShapesOutputsAndOptionalInputs) {
  EXPECT_EQ(SignatureChange(stable_, candidate_), "");
  EXPECT_EQ(WithX(Info({-1, -1})), "");
  EXPECT_EQ(WithX(Info({kAnyRank})), "");
  (*Candidate().mutable_inputs())["temperature"] = Info({});
  (*Candidate().mutable_defaults())["temperature"];
  (*Candidate().mutable_outputs())["z"] = Info({});
  candidate_["embed"];
  stable_["__saved_model_init_op"];
  EXPECT_EQ(SignatureChange(stable_, candidate_), "");
}

TEST_F(SignaturesTest, RejectFewerShapesAndOtherTypes) {
  EXPECT_EQ(WithX(Info({-1, 3})),
            "signature \"serving_default\": input \"x\" takes float [-1,3] where stable takes float [-1,2]");
  EXPECT_NE(WithX(Info({1, 2})), "");
  EXPECT_NE(WithX(Info({-1})), "");
  EXPECT_NE(WithX(Info({-1, 2}, tensorflow::DT_INT64)), "");
  EXPECT_EQ(WithX(Info({-1, 2})), "");
  (*stable_["serving_default"].mutable_inputs())["x"] = Info({kAnyRank});
  EXPECT_NE(WithX(Info({-1, 2})), "") << "stable takes any shape";
}

TEST_F(SignaturesTest, RejectRemovedSignaturesInputsAndOutputs) {
  stable_["embed"];
  EXPECT_EQ(SignatureChange(stable_, candidate_), "signature \"embed\" is gone; this version has \"serving_default\"");
  stable_.erase("embed");
  (*Candidate().mutable_outputs())["y"].set_dtype(tensorflow::DT_DOUBLE);
  EXPECT_EQ(SignatureChange(stable_, candidate_),
            "signature \"serving_default\": output \"y\" is double where stable's is float");
  Candidate().mutable_outputs()->clear();
  EXPECT_EQ(SignatureChange(stable_, candidate_), "signature \"serving_default\": output \"y\" is gone");
  Candidate().mutable_inputs()->clear();
  EXPECT_EQ(SignatureChange(stable_, candidate_), "signature \"serving_default\": input \"x\" is gone");
}

// Both happen to teams that change how they export.
TEST_F(SignaturesTest, NameTheCureForOtherNamesThanBefore) {
  stable_["serve"];
  EXPECT_EQ(SignatureChange(stable_, candidate_),
            "signature \"serve\" is gone; this version has \"serving_default\"; Keras' model.export writes serve, "
            "tf.saved_model.save does not: export as before");
  stable_.erase("serve");
  (*Candidate().mutable_inputs())["keras_tensor_7"] = Candidate().inputs().at("x");
  Candidate().mutable_inputs()->erase("x");
  EXPECT_EQ(SignatureChange(stable_, candidate_),
            "signature \"serving_default\": input \"x\" is gone, and \"keras_tensor_7\" is new; give the input this "
            "name when the version is exported, in Keras with keras.Input(..., name=\"x\")");
}

TEST_F(SignaturesTest, RejectNewRequiredInputs) {
  (*Candidate().mutable_inputs())["temperature"] = Info({});
  EXPECT_EQ(SignatureChange(stable_, candidate_),
            "signature \"serving_default\": input \"temperature\" (float []) is new and has no default");
  (*stable_["serving_default"].mutable_inputs())["temperature"] = Info({});
  (*stable_["serving_default"].mutable_defaults())["temperature"];
  EXPECT_EQ(SignatureChange(stable_, candidate_),
            "signature \"serving_default\": input \"temperature\" no longer has a default");
}

}  // namespace
}  // namespace longshore::rehearsal
