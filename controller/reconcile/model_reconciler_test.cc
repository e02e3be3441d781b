#include "controller/reconcile/model_reconciler.h"

#include <gtest/gtest.h>

#include "controller/reconcile/testing.h"

namespace longshore::reconcile {
namespace {

TEST_F(ReconcilerTest, ReportsFromBeforeTheDeletionOfAModelAreNotAboutItsSuccessor) {
  nodes_.Attach("default.cpu-0", {{"m", 1}});
  ApplyModel("m");
  Settle();
  ASSERT_EQ(StatusOf("m").stable_version, 1);
  nodes_.confirms = false;
  ASSERT_TRUE(disk_->Delete(ModelKey("m"), disk_->Get(ModelKey("m"))->metadata.uid));
  Settle({ModelKey("m")});
  ApplyModel("m");
  Settle();
  EXPECT_EQ(StatusOf("m").stable_version, 0) << "the node still reports the version of the deleted Model as ready";
  EXPECT_EQ(reconciler_->Reconcile(ModelKey("m")).value(), std::optional<Duration>(std::chrono::milliseconds(200)));

  nodes_.Confirm("default.cpu-0");
  Settle();
  Settle({ModelKey("m")});
  EXPECT_EQ(StatusOf("m").stable_version, 1);
}

}  // namespace
}  // namespace longshore::reconcile
