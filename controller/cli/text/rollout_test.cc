#include "controller/cli/text/rollout.h"

#include <gtest/gtest.h>

namespace longshore::cli::text {
namespace {

TEST(Outcome, ARolloutThatNoControllerContinuesIsNotOver) {
  api::Model model;
  model.status.stable_version = 2;
  model.spec.rollout.steps = {{.weight_percent = 10}, {.weight_percent = 50}};
  model.status.rollout.stable = 2;
  model.status.rollout.candidate = 9;
  model.status.rollout.phase = api::RolloutPhase::kStep;
  model.status.rollout.weight_percent = 10;
  EXPECT_EQ(OutcomeText(model, {}),
            "The rollout is not over, and no controller continues it: 2 -> 9, step 1 of 2 at 10 %.\n");
  model.status.rollout.phase = api::RolloutPhase::kCompleted;
  model.status.stable_version = 9;
  EXPECT_EQ(OutcomeText(model, {}), "✓ The rollout is complete: version 9 serves all requests.\n");
  model.status.rollout = {};
  EXPECT_EQ(OutcomeText(model, {Standing::kUnderWay, "its fleet has changed"}),
            "No rollout is under way: version 9 serves all requests. its fleet has changed\n");
}

}  // namespace
}  // namespace longshore::cli::text
