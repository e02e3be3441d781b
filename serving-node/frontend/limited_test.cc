#include "serving-node/frontend/limited.h"

#include <gtest/gtest.h>

#include <vector>

#include "serving-node/frontend/testing.h"

namespace longshore::frontend {
namespace {

routing::PredictCall Call() {
  routing::PredictCall call;
  call.request.mutable_model_spec()->set_name("digits");
  tensor::ToProto(tensor::Tensor::Of<float>({1}, std::vector<float>{1}), &(*call.request.mutable_inputs())["x"]);
  return call;
}

TEST(LimitedPredictor, RefusesAtOnceWhatIsTooMuchAndTakesMoreWhenOneIsDone) {
  FakePredictor next;
  next.Hold();
  LimitedPredictor limited(next, 2);
  std::vector<Code> answers;
  const auto ask = [&] {
    limited.Predict(Call(), [&](const Result<routing::PredictAnswer>& answer) {
      answers.push_back(answer ? Code::kOk : answer.error().code);
    });
  };
  for (int i = 0; i < 4; ++i) ask();
  EXPECT_EQ(answers, (std::vector{Code::kResourceExhausted, Code::kResourceExhausted}));
  EXPECT_EQ(next.calls(), 2u);
  auto held = next.TakeHeld();
  held[0](NotFound("gone"));
  ask();
  EXPECT_EQ(next.calls(), 3u);
  EXPECT_EQ(answers.back(), Code::kNotFound);
}

TEST(LimitedPredictor, OnlyWhatMaySucceedLaterIsWorthAnotherTry) {
  FakePredictor next;
  LimitedPredictor none(next, 0);
  none.Predict(Call(), [](const Result<routing::PredictAnswer>& answer) {
    ASSERT_FALSE(answer);
    EXPECT_TRUE(MayRetry(answer.error()));
  });
  EXPECT_TRUE(MayRetry({Code::kUnavailable, "x"}));
  EXPECT_FALSE(MayRetry({Code::kResourceExhausted, "a tensor of 1 TB"}));
  EXPECT_FALSE(MayRetry({Code::kInternal, "x"}));
}

}  // namespace
}  // namespace longshore::frontend
