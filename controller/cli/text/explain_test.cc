#include "controller/cli/text/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::cli::text {
namespace {

using testing::HasSubstr;

TEST(Explain, AnInconclusiveStepThatWaitsForAPersonDoesNotEndByItsProof) {
  api::Model model;
  model.spec.rollout.steps = {{.weight_percent = 10}};
  api::RolloutStatus& rollout = model.status.rollout;
  model.status.stable_version = rollout.stable = 1;
  rollout.candidate = 2;
  rollout.weight_percent = 10;
  rollout.phase = api::RolloutPhase::kPaused;
  rollout.paused_reason = "Inconclusive";
  EXPECT_THAT(ExplainModel(model, {}), HasSubstr("The step ends when they are there, or by `longshore promote`"));
  model.spec.rollout.steps[0].manual_pause = true;
  EXPECT_THAT(ExplainModel(model, {}), HasSubstr("The step ends by `longshore promote` or `longshore abort`."));
}

}  // namespace
}  // namespace longshore::cli::text
