#include <gmock/gmock.h>

#include "serving-node/engine/host/host.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::engine::host {
namespace {

class ProfileTest : public testing::Test {
 protected:
  const Path digits_ = source_tree::Root() / "tests/models/digits/2";
  const std::unique_ptr<Engine> engine_ = MakeEngine({.threads = 1});
  const std::shared_ptr<LoadedModel> model_ = engine_->Load(digits_, {}).value();
  const RunRequest request_{.signature = "serving_default",
                            .inputs = {{"image", tensor::Tensor::Of<float>({1, 8, 8, 1}, std::vector<float>(64))}},
                            .outputs = {}};
};

TEST_F(ProfileTest, HasTheOutputsOfARunAndEveryNode) {
  const auto profile = model_->Profile(request_);
  ASSERT_TRUE(profile) << profile.error().message;
  const auto outputs = RunAndWait(*model_, request_);
  ASSERT_EQ(profile->outputs.size(), outputs->size());
  const auto same = [&](const char* name) {
    const auto got = profile->outputs.at(name).values<float>(), want = outputs->at(name).values<float>();
    return std::equal(got.begin(), got.end(), want.begin(), want.end());
  };
  EXPECT_TRUE(same("probabilities"));
  const auto is_convolution = [](const NodeRun& node) { return node.op == "Conv2D" && node.flops > 10'000; };
  EXPECT_EQ(std::ranges::count_if(profile->nodes, is_convolution), 3);
  EXPECT_GE(profile->bytes_peak, 8 * 8 * 24 * sizeof(float)) << "the output of the first convolution";
}

TEST_F(ProfileTest, HasTheErrorsOfARun) {
  RunRequest wrong = request_;
  wrong.signature = "none";
  EXPECT_EQ(model_->Profile(wrong).error().code, Code::kNotFound);
  wrong = request_;
  wrong.inputs.clear();
  EXPECT_EQ(model_->Profile(wrong).error().code, Code::kInvalidArgument);
}

TEST_F(ProfileTest, CountsWeightsThatSignaturesShareOnce) {
  const int64_t stored = engine_->EstimateLoad(digits_, {})->weights_bytes;
  EXPECT_GT(model_->memory_bytes(), 0);
  EXPECT_LT(model_->memory_bytes(), stored);
}

TEST_F(ProfileTest, AModelThatLoadsHasNoUnsupportedOps) { EXPECT_TRUE(FindUnsupportedOps(digits_, {})->empty()); }

}  // namespace
}  // namespace longshore::engine::host
