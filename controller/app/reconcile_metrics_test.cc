#include "controller/app/reconcile_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/local/local_store.h"

namespace longshore::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ReconcileMetricsTest : public ::testing::Test {
 protected:
  ReconcileMetricsTest() {
    char name[] = "/tmp/longshore_reconcile_metrics_XXXXXX";
    dir_ = mkdtemp(name);
    store_ = store::local::LocalStore::Open({.dir = dir_}).value();
  }
  ~ReconcileMetricsTest() override { std::filesystem::remove_all(dir_); }

  store::Object ApplyModel(const std::string& name,
                           Json spec = {{"fleet", "cpu"}, {"source", {{"uri", "file:///models/m"}}}}) {
    store::Object object;
    object.kind = api::kModelKind;
    object.metadata.name = name;
    object.spec = std::move(spec);
    return store_->Apply(object).value();
  }
  void End(const std::string& name, api::RolloutPhase phase) {
    api::RolloutStatus rollout;
    rollout.phase = phase;
    metrics_.Ended({api::kModelKind, "default", name}, rollout, rollout.started_at + std::chrono::seconds(3));
  }

  Path dir_;
  std::unique_ptr<store::local::LocalStore> store_;
  metrics::Registry registry_;
  ReconcileMetrics metrics_{registry_};
};

constexpr const char* kRolledBackOfM =
    "longshore_model_rollouts_total{fleet=\"default/cpu\",model=\"m\",name=\"m\",namespace=\"default\",result="
    "\"RolledBack\"} ";

TEST_F(ReconcileMetricsTest, ObjectsAreShownOnlyWhileTheyAreReconciled) {
  ApplyModel("m");
  EXPECT_THAT(registry_.Text(), Not(HasSubstr("name=\"m\"")));
  metrics_.ShowObjectsOf(store_.get());
  EXPECT_THAT(registry_.Text(), HasSubstr("longshore_model_stable_version{fleet=\"default/cpu\",model=\"m\""));
  EXPECT_THAT(registry_.Text(), HasSubstr("longshore_controller_objects{kind=\"Model\"} 1\n"));
  metrics_.ShowObjectsOf(nullptr);
  EXPECT_THAT(registry_.Text(), Not(HasSubstr("name=\"m\"")));
}

TEST_F(ReconcileMetricsTest, RolloutsAreCountedFromZeroUntilTheirModelIsDeleted) {
  const store::Object model = ApplyModel("m");
  metrics_.ShowObjectsOf(store_.get());
  EXPECT_THAT(registry_.Text(), HasSubstr(kRolledBackOfM + std::string("0\n")));
  End("m", api::RolloutPhase::kRolledBack);
  EXPECT_THAT(registry_.Text(), HasSubstr(kRolledBackOfM + std::string("1\n")));
  EXPECT_THAT(registry_.Text(), HasSubstr("longshore_rollout_seconds_sum{result=\"RolledBack\"} 3\n"));
  ASSERT_TRUE(store_->Delete({api::kModelKind, "default", "m"}, model.metadata.uid));
  EXPECT_THAT(registry_.Text(), Not(HasSubstr("name=\"m\"")));
  ApplyModel("m");
  EXPECT_THAT(registry_.Text(), HasSubstr(kRolledBackOfM + std::string("0\n"))) << "the Model is a new object";
}

TEST_F(ReconcileMetricsTest, AnUnreadableObjectIsCountedAndTheOthersAreShown) {
  ApplyModel("m");
  ApplyModel("strange", {{"unheardOf", 1}});
  metrics_.ShowObjectsOf(store_.get());
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("longshore_controller_objects{kind=\"Model\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("longshore_controller_unreadable_objects{kind=\"Model\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("name=\"m\""));
}

TEST_F(ReconcileMetricsTest, ReconciliationsAreCountedAndTimed) {
  const api::Key key{api::kModelKind, "default", "m"};
  metrics_.Reconciled(key, Code::kOk, std::chrono::milliseconds(2));
  metrics_.Reconciled(key, Code::kUnavailable, std::chrono::milliseconds(2));
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("longshore_controller_reconciles_total{kind=\"Model\",result=\"OK\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("longshore_controller_reconciles_total{kind=\"Model\",result=\"UNAVAILABLE\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("longshore_controller_reconcile_seconds_count{kind=\"Model\"} 2\n"));
}

}  // namespace
}  // namespace longshore::app
