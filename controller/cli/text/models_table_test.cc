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

}  // namespace
}  // namespace longshore::cli::text
