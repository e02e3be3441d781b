#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/text/text.h"

namespace longshore::cli::text {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ModelsTable, NamesAVersionThatServesAndFailsItsGoldenSet) {
  api::Model model;
  model.metadata.name = "digits";
  model.spec.version = model.status.stable_version = 2;
  model.status.conditions = {{"Ready", "True", "Serving", "version 2 is ready", 1, {}},
                             {"GoldenSetPasses", "True", "Passed", "version 2 passed on all nodes", 1, {}}};
  EXPECT_THAT(ModelsTable({model}, {}), Not(HasSubstr("golden set")));
  model.status.conditions.back().status = "False";
  model.status.conditions.back().message = "version 2 fails its golden set on 1 of 3 nodes";
  EXPECT_THAT(ModelsTable({model}, {}), HasSubstr("version 2 fails its golden set on 1 of 3 nodes\n"));
}

TEST(ModelsTable, SaysWhyAModelThatNeverServedHasNoNodes) {
  api::Model model;
  model.metadata.name = "digits";
  model.status.conditions = {{"Ready", "False", "NoNodes", "no node of fleet cpu is connected; cpu-0: no PVC", 1, {}}};
  EXPECT_THAT(ModelsTable({model}, {}),
              HasSubstr("no version serves: no node of fleet cpu is connected; cpu-0: no PVC\n"));
}

TEST(Tables, NameAManifestThatIsNotInUse) {
  const api::Condition refused{"ManifestAccepted", "False", "Invalid", "digits.yaml:12: unknown field colour", 1, {}};
  api::Model model;
  model.status.conditions = {refused};
  EXPECT_THAT(ModelsTable({model}, {}), HasSubstr("digits.yaml:12: unknown field colour\n"));
  model.status.rollout.phase = api::RolloutPhase::kStep;
  EXPECT_THAT(ModelsTable({model}, {}), HasSubstr("digits.yaml:12: unknown field colour\n"));
  api::ServingFleet fleet;
  fleet.status.conditions = {refused};
  EXPECT_THAT(FleetsTable({fleet}), HasSubstr("digits.yaml:12: unknown field colour\n"));
}

TEST(Tables, SayWhyAFleetIsNotReady) {
  api::ServingFleet fleet;
  fleet.status.conditions = {
      {"Ready", "False", "NodesNotReady", "2 of 3 nodes are ready; cpu-1 does not answer", 1, {}}};
  EXPECT_THAT(FleetsTable({fleet}), HasSubstr("2 of 3 nodes are ready; cpu-1 does not answer\n"));
}

TEST(Tables, SayHowManyNodesOfAFleetDrain) {
  api::ServingFleet fleet;
  fleet.status.nodes = {{"cpu-0", 1, "Ready", ""}, {"cpu-1", 2, "Draining", ""}};
  EXPECT_THAT(FleetsTable({fleet}), HasSubstr("1 more node is draining\n"));
}

}  // namespace
}  // namespace longshore::cli::text
