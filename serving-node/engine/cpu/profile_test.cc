// Tests the profile of a run, and that profiling does not change the outputs.
#include <gmock/gmock.h>

#include "serving-node/engine/cpu/cpu.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::engine::cpu {
namespace {

using std::chrono::nanoseconds;

TensorMap Image(float value) {
  return {{"image", tensor::Tensor::Of<float>({2, 8, 8, 1}, std::vector<float>(128, value))}};
}

class CpuProfile : public testing::Test {
 protected:
  TensorMap Run(std::shared_ptr<RunProfile> profile) {
    RunRequest request{.signature = "serving_default", .inputs = Image(0.5F), .outputs = {}};
    request.profile = std::move(profile);
    return RunAndWait(*model_, std::move(request)).value();
  }

  const std::unique_ptr<Engine> engine_ = MakeEngine({.runs = 1});
  const std::shared_ptr<LoadedModel> model_ = engine_->Load(source_tree::Root() / "tests/models/digits/2", {}).value();
};

TEST_F(CpuProfile, DoesNotChangeTheBitsOfTheOutputs) {
  const TensorMap plain = Run(nullptr);
  const auto profile = std::make_shared<RunProfile>();
  const TensorMap profiled = Run(profile);
  ASSERT_EQ(profiled.size(), plain.size());
  for (const auto& [name, value] : plain) {
    const tensor::Tensor& other = profiled.at(name);
    ASSERT_EQ(other.type(), value.type());
    if (value.type() == tensor::DType::kString) continue;
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(other.data()), other.bytes()),
              std::string_view(reinterpret_cast<const char*>(value.data()), value.bytes()))
        << name;
  }
  EXPECT_TRUE(profile->outputs.empty());
}

TEST_F(CpuProfile, OnlyTheFirstRunOfAShapePlansForIt) {
  const auto planned = [&](int64_t rows, std::shared_ptr<RunProfile> profile = nullptr) {
    RunRequest request{.signature = "serving_default", .inputs = {}, .outputs = {}, .thread = Thread::kCallers};
    request.inputs.emplace("image", *tensor::Tensor::Make(tensor::DType::kFloat, {rows, 8, 8, 1}));
    request.profile = std::move(profile);
    std::optional<bool> result;
    model_->Run(std::move(request), [&](Result<RunResult> ran) { result = ran->planned; });
    return *result;
  };
  EXPECT_TRUE(planned(2));
  EXPECT_FALSE(planned(2));
  EXPECT_TRUE(planned(3, std::make_shared<RunProfile>()));
  EXPECT_FALSE(planned(3, std::make_shared<RunProfile>()));
}

TEST_F(CpuProfile, HasStepsInSequenceWithinTheRun) {
  const auto profile = std::make_shared<RunProfile>();
  Run(profile);
  ASSERT_FALSE(profile->nodes.empty());
  EXPECT_LE(profile->plan, profile->nodes[0].began);
  nanoseconds last{0};
  for (const NodeRun& node : profile->nodes) {
    EXPECT_GE(node.began, last);
    EXPECT_GE(node.ended, node.began);
    EXPECT_EQ(node.took, node.ended - node.began) << "the step has no body";
    last = node.ended;
  }
  EXPECT_LE(last, profile->took);
}

TEST_F(CpuProfile, HasTheOutputOfEachStepAndTheMemoryOfTheRun) {
  const auto profile = std::make_shared<RunProfile>();
  Run(profile);
  const NodeRun& first = profile->nodes[0];
  EXPECT_EQ(first.op, "Conv2D");
  EXPECT_EQ(first.then, "BiasAdd, Relu");
  EXPECT_EQ(first.output, "DT_FLOAT [2,8,8,24]");
  EXPECT_EQ(first.bytes, 2 * 8 * 8 * 24 * sizeof(float));
  EXPECT_GE(first.held_bytes, first.bytes);
  EXPECT_GE(profile->bytes_peak, first.held_bytes);
}

TEST_F(CpuProfile, LeavesOutNodesAboveItsMemoryLimit) {
  std::atomic<int64_t> room_bytes = 1000;
  const auto profile = std::make_shared<RunProfile>();
  profile->room_bytes = &room_bytes;
  EXPECT_FALSE(Run(profile).empty());
  EXPECT_LE(profile->nodes.size(), 1000 / sizeof(NodeRun));
  EXPECT_GT(profile->left_out, 0);
}

}  // namespace
}  // namespace longshore::engine::cpu
