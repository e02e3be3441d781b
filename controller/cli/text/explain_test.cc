#include "controller/cli/text/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/text/rollout.h"
#include "controller/cli/text/standing.h"

namespace longshore::cli::text {
namespace {

using testing::HasSubstr;
using testing::Not;

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

// A rollout from version 1 to version 2 whose evidence was last used at `at`.
api::Model Judged(TimePoint at) {
  api::Model model;
  api::RolloutStatus& rollout = model.status.rollout;
  model.status.stable_version = rollout.stable = 1;
  rollout.candidate = 2;
  rollout.phase = api::RolloutPhase::kStep;
  rollout.evidence_used_at = at;
  rollout.verdict = {.result = "Undecided", .reason = "NotProven", .message = "why", .numbers = {}};
  return model;
}

TEST(Explain, SaysHowOldTheNumbersAreUnlessTheyAreNew) {
  const TimePoint at{std::chrono::hours(1)};
  const TimePoint later = at + std::chrono::seconds(40);
  EXPECT_THAT(ExplainModel(Judged(at), later), HasSubstr("The numbers were last updated 40s ago."));
  EXPECT_THAT(RolloutView(Judged(at), later, ""), HasSubstr("The numbers were last updated 40s ago."));
  EXPECT_THAT(StatusOfModel(Judged(at), later), HasSubstr("why (the numbers were last updated 40s ago)"));
  EXPECT_THAT(ExplainModel(Judged(at), at + std::chrono::seconds(4)), Not(HasSubstr("last updated")));
  api::Model ended = Judged(at);
  ended.status.rollout.phase = api::RolloutPhase::kRolledBack;
  EXPECT_THAT(ExplainModel(ended, later), Not(HasSubstr("last updated")));
}

TEST(Explain, SaysOnceWhyAFirstVersionIsNotLoaded) {
  api::Model model;
  model.spec.version = model.status.rollout.candidate = 2;
  model.status.rollout.phase = api::RolloutPhase::kValidating;
  model.status.conditions = {
      {"Ready", "False", "NotLoaded", "no version has been loaded yet; node a: no folder", 1, {}},
      {"Reconciling", "True", "Validating", "node a: no folder", 1, {}}};
  const std::string text = ExplainModel(model, {});
  EXPECT_THAT(text, HasSubstr("No version serves yet.\n"));
  EXPECT_THAT(text, HasSubstr("But node a: no folder."));
  EXPECT_THAT(text, Not(HasSubstr("o version has been loaded yet")));
}

TEST(Explain, ADeadlineDoesNotEndARolloutWithoutNodes) {
  api::Model model;
  model.spec.version = model.status.rollout.candidate = 2;
  model.status.rollout.phase = api::RolloutPhase::kLoading;
  model.status.conditions = {{"Ready", "False", "NotLoaded", "why", 1, {}},
                             {"Reconciling", "True", "Loading", "node a: no folder", 1, {}}};
  EXPECT_THAT(ExplainModel(model, {}), HasSubstr("progressDeadline"));
  model.status.conditions[0] = {"Ready", "False", "NoNodes", "no node of fleet cpu is connected", 1, {}};
  model.status.conditions[1].message = "no node of fleet cpu is connected";
  EXPECT_THAT(ExplainModel(model, {}), Not(HasSubstr("progressDeadline")));
}

TEST(Explain, ThePhasePreviewSaysHowToTryTheVersion) {
  api::Model model;
  model.spec.rollout.strategy = api::Strategy::kBlueGreen;
  model.spec.rollout.preview.header = "x-try";
  api::RolloutStatus& rollout = model.status.rollout;
  model.status.stable_version = rollout.stable = 1;
  rollout.candidate = 2;
  rollout.phase = api::RolloutPhase::kPreview;
  const std::string how = "Requests with the header x-try or for the label preview get version 2. ";
  EXPECT_THAT(WaitReason(model, {}), HasSubstr(how + "The phase lasts"));
  rollout.paused_reason = "Preview";
  EXPECT_THAT(WaitReason(model, {}), HasSubstr(how + "`longshore promote` gives the version all requests."));
  EXPECT_THAT(ExplainModel(model, {}), HasSubstr(how));
  rollout.phase = api::RolloutPhase::kShadow;
  EXPECT_THAT(WaitReason(model, {}), Not(HasSubstr("header")));
}

api::Model SlowAfterFewRequests() {
  api::Model model;
  api::RolloutStatus& rollout = model.status.rollout;
  model.status.stable_version = rollout.stable = 1;
  rollout.candidate = 2;
  rollout.phase = api::RolloutPhase::kRolledBack;
  rollout.verdict = {.result = "Fail",
                     .reason = "Latency",
                     .message = "",
                     .numbers = {{"stableRequests", 9},
                                 {"candidateRequests", 9},
                                 {"stableP50Ms", 0.0381},
                                 {"candidateP50Ms", 7.51},
                                 {"errorDifferenceLow", -1},
                                 {"errorDifferenceHigh", 1}}};
  return model;
}

TEST(Explain, ATestThatFailsBeforeThereIsAnIntervalIsExplained) {
  const std::string note = "it only finds that the candidate is worse than allowed, and not by how much.";
  api::Model model = SlowAfterFewRequests();
  EXPECT_THAT(ExplainModel(model, {}), HasSubstr("0.038 ms     7.5 ms          too few for an interval"));
  EXPECT_THAT(ExplainModel(model, {}), HasSubstr(note));
  model.status.rollout.verdict.reason = "ErrorRate";
  EXPECT_THAT(ExplainModel(model, {}), HasSubstr(note));
  model.status.rollout.verdict.numbers["errorDifferenceLow"] = 0.1;
  EXPECT_THAT(ExplainModel(model, {}), Not(HasSubstr(note)));
}

}  // namespace
}  // namespace longshore::cli::text
