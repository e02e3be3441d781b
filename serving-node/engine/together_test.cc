#include "serving-node/engine/together.h"

#include <gtest/gtest.h>

namespace longshore::engine {
namespace {

using tensorflow::SignatureDef;

SignatureDef Examples(const std::string& tensor, const std::string& output) {
  SignatureDef signature;
  auto& input = (*signature.mutable_inputs())["inputs"];
  input.set_name(tensor);
  input.set_dtype(tensorflow::DT_STRING);
  (*signature.mutable_outputs())[output].set_name(output + ":0");
  return signature;
}

class Together : public testing::Test {
 protected:
  Together() {
    all_["regress"] = Examples("e:0", "outputs");
    all_["classify"] = Examples("e:0", "scores");
    all_["of TensorFlow 2"] = Examples("of_this_signature:0", "outputs");
    all_["numbers"] = Examples("e:0", "outputs");
    (*all_["numbers"].mutable_inputs())["inputs"].set_dtype(tensorflow::DT_FLOAT);
    all_["two inputs"] = Examples("e:0", "outputs");
    (*all_["two inputs"].mutable_inputs())["more"].set_dtype(tensorflow::DT_STRING);
  }
  bool IsTogether(const std::string& name) const { return FindTogether(all_, all_.at("regress"), name).has_value(); }
  Signatures all_;
};

TEST_F(Together, SignaturesWhoseOnlyInputIsExamplesMayRunTogether) {
  EXPECT_TRUE(MayRunTogether(all_["regress"], all_["classify"]));
  EXPECT_TRUE(MayRunTogether(all_["regress"], all_["of TensorFlow 2"]));
  for (const char* other : {"numbers", "two inputs"}) {
    EXPECT_FALSE(MayRunTogether(all_["regress"], all_[other])) << other;
    EXPECT_FALSE(MayRunTogether(all_[other], all_["regress"])) << other;
  }
}

TEST_F(Together, AnOutputIsNamedByItsSignatureAndItself) {
  for (const char* name : {"classify/scores", "regress/outputs", "of TensorFlow 2/outputs"})
    EXPECT_TRUE(IsTogether(name)) << name;
  for (const char* wrong : {"scores", "classify/outputs", "none/scores", "numbers/outputs", "/", ""})
    EXPECT_FALSE(IsTogether(wrong)) << wrong;
}

TEST_F(Together, EveryMergedOutputHasANameOfItsOwn) {
  all_["a"] = Examples("e:0", "b/c");
  all_["a/b"] = Examples("e:0", "c");
  (*all_["a/b"].mutable_outputs())["c"].set_name("of_a_b:0");
  const auto merged = MergedSignature(all_);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->outputs().at("a/b/c").name(), "of_a_b:0");
  EXPECT_EQ(FindTogether(all_, all_["regress"], "a/b/c")->info->name(), "of_a_b:0");
  EXPECT_FALSE(MayRunTogether(all_["regress"], all_["a"]));
}

TEST_F(Together, ARequestForOwnOutputsNeverAsksForOthers) {
  (*all_["classify"].mutable_outputs())["classify/scores"].set_name("own:0");
  EXPECT_FALSE(AskTogether(all_, all_["classify"], {"classify/scores"}));
  EXPECT_FALSE(AskTogether(all_, all_["regress"], {"classify/scores"}))
      << "an output of classify contains the separator";
  EXPECT_FALSE(AskTogether(all_, all_["regress"], {}));
  EXPECT_FALSE(AskTogether(all_, all_["regress"], {"outputs", "regress/outputs"}));
  EXPECT_FALSE(AskTogether(all_, all_["regress"], {"regress/outputs", "outputs"}));
  EXPECT_TRUE(AskTogether(all_, all_["regress"], {"none", "regress/outputs"}));
}

TEST_F(Together, TheMergedSignatureHasAllInputsAndOutputsOfItsParts) {
  const auto merged = MergedSignature(all_);
  ASSERT_TRUE(merged);
  ASSERT_EQ(merged->inputs_size(), 2);
  EXPECT_EQ(merged->inputs().at("e:0").name(), "e:0");
  EXPECT_EQ(merged->inputs().at("of_this_signature:0").name(), "of_this_signature:0");
  ASSERT_EQ(merged->outputs_size(), 3);
  EXPECT_EQ(merged->outputs().at("classify/scores").name(), "scores:0");
  EXPECT_EQ(merged->outputs().at("regress/outputs").name(), "outputs:0");
}

TEST_F(Together, OneSignatureIsNotMerged) {
  all_.erase("regress");
  all_.erase("classify");
  EXPECT_FALSE(MergedSignature(all_));
}

}  // namespace
}  // namespace longshore::engine
