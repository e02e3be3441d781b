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

// The FleetBook takes a report some milliseconds after the registry has it.
TEST_F(ReconcilerTest, AModelTakesTheNewestReportOfANodeAlsoBeforeTheFleetDoes) {
  nodes_.Attach("default.cpu-0", {{"m", 1}});
  ApplyModel("m");
  Settle();
  ASSERT_TRUE(disk_->Delete(ModelKey("m"), disk_->Get(ModelKey("m"))->metadata.uid));
  Settle({ModelKey("m")});
  nodes_.Attach("default.cpu-0", {});
  nodes_.Confirm("default.cpu-0");
  ASSERT_TRUE(nodes_.views.at("default.cpu-0").sent->removed.empty());
  ApplyModel("m");
  ASSERT_TRUE(reconciler_->Reconcile(ModelKey("m")));
  EXPECT_EQ(StatusOf("m").stable_version, 0) << "the report in the FleetBook is about the deleted Model";
}

TEST_F(ReconcilerTest, AModelIsNotReadyBeforeTheNodesOfANewControllerHaveItsState) {
  nodes_.confirms = false;
  nodes_.Attach("default.cpu-0", {{"m", 1}});
  ApplyModel("m");
  Settle();
  const auto ready = [&] {
    const auto conditions = StatusOf("m").conditions;
    const auto found = *std::ranges::find(conditions, "Ready", &api::Condition::type);
    return found.status + " " + found.reason;
  };
  ASSERT_EQ(StatusOf("m").stable_version, 1);
  EXPECT_EQ(ready(), "False Routing");
  Restart();
  nodes_.Attach("default.cpu-0", {{"m", 1}});
  Settle({kFleetKey, ModelKey("m")});
  EXPECT_EQ(ready(), "False Routing") << "the node has not confirmed what this controller sent";
  nodes_.Confirm("default.cpu-0");
  Settle();
  EXPECT_EQ(ready(), "True Serving");
}

class DetailsOfAModel : public ReconcilerTest {
 protected:
  static constexpr const char* kNode = "default.cpu-0";

  // Version 1 is ready on one of two nodes.
  DetailsOfAModel() {
    Apply(api::kServingFleetKind, "cpu", {{"replicas", {{"min", 2}, {"max", 2}}}});
    Restart(std::chrono::seconds(1));
    Settle();
    nodes_.Attach(kNode, {{"m", 1}});
    nodes_.Attach("default.cpu-1");
    ApplyModel("m");
    Settle();
    timer_.Advance(std::chrono::seconds(1));
    Settle({ModelKey("m")});
    EXPECT_EQ(StatusOf("m").stable_version, 1);
    written_ = disk_->writes[ModelKey("m")];
  }
  void Report(control::VersionReport::State state) {
    nodes_.Attach("default.cpu-1", {{"m", 1}});
    nodes::Unshared(nodes_.views.at("default.cpu-1").report).mutable_versions(0)->set_state(state);
    Settle();
  }
  int Writes() { return disk_->writes[ModelKey("m")] - written_; }

  int written_ = 0;
};

TEST_F(DetailsOfAModel, AreWrittenTogetherAfterASecond) {
  Report(control::VersionReport::REHEARSAL);
  Report(control::VersionReport::LOADING);
  EXPECT_EQ(Writes(), 0);
  const auto again = reconciler_->Reconcile(ModelKey("m"));
  ASSERT_TRUE(again && *again);
  EXPECT_LE(**again, std::chrono::seconds(1)) << "it is reconciled in time for the write";
  timer_.Advance(std::chrono::seconds(1));
  Settle({ModelKey("m")});
  EXPECT_EQ(Writes(), 1);
  EXPECT_EQ(StatusOf("m").nodes.at(1).state, "1:Loading");
}

TEST_F(DetailsOfAModel, AreWrittenAtOnceWithAllElse) {
  Report(control::VersionReport::LOADING);
  EXPECT_EQ(Writes(), 0);
  Report(control::VersionReport::READY);
  EXPECT_EQ(Writes(), 1) << "the condition Reconciling ends";
  EXPECT_EQ(StatusOf("m").nodes.at(1).state, "1:Ready");
}

}  // namespace
}  // namespace longshore::reconcile
