#include "controller/cli/text/standing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::cli::text {
namespace {

api::Model With(const api::Condition& trouble) {
  api::Model model;
  model.metadata.generation = model.status.observed_generation = 4;
  model.spec.version = model.status.stable_version = 1;
  model.status.conditions = {{"Ready", "True", "Serving", "version 1 is ready", 4, {}}, trouble};
  return model;
}

TEST(Standing, TroubleThatOnlyAPersonCanEndHasFailedUnlessARolloutIsUnderWay) {
  const api::Condition vanished{"ManifestAccepted", "False", "Vanished", "its file digits.yaml was deleted", 4, {}};
  const api::Condition labelled{"LabelsServed", "False", "NotFound", "label \"old\": no directory", 4, {}};
  for (const api::Condition& trouble : {vanished, labelled}) {
    api::Model model = With(trouble);
    EXPECT_EQ(ReportOf(model).standing, Standing::kFailed) << trouble.type;
    EXPECT_TRUE(ReportOf(model).is_retried) << "somebody may be copying the file";
    EXPECT_FALSE(HasFailedForGood({}, {model}));
    model.status.rollout.phase = api::RolloutPhase::kStep;
    EXPECT_EQ(ReportOf(model).standing, Standing::kUnderWay) << trouble.type;
    EXPECT_EQ(ReportOf(With({trouble.type, "False", "NotReady", "", 4, {}})).standing, Standing::kUnderWay)
        << trouble.type;
  }
}

TEST(Standing, AnObjectThatTheLeaderHasNotReconciledIsUnderWay) {
  const auto of = [](int64_t observed, const HostSeen& seen) {
    api::Model model = With({"FleetFound", "True", "Found", "", 4, {}});
    model.metadata.namespace_ = "vision";
    model.status.epoch = 6;
    model.status.observed_generation = observed;
    return ReportOf(model, seen);
  };
  EXPECT_EQ(of(4, {.epoch = 6}).standing, Standing::kAsWanted);
  EXPECT_EQ(of(4, {.epoch = 7}).standing, Standing::kUnderWay);
  EXPECT_THAT(of(0, {.epoch = 7}).why, testing::HasSubstr("is namespace vision one that the controller watches"));
  EXPECT_THAT(of(0, {.is_host = true, .epoch = 7}).why, testing::Not(testing::HasSubstr("watches")));
}

}  // namespace
}  // namespace longshore::cli::text
