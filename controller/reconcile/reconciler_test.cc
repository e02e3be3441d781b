#include "controller/reconcile/reconciler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/node_contract/homes.h"
#include "controller/api/format.h"
#include "controller/reconcile/testing.h"

namespace longshore::reconcile {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(ReconcilerTest, NodeGetsASnapshotOfAllModelsOfItsFleet) {
  ApplyModel("a");
  ApplyModel("b");
  Settle();
  nodes_.Attach("default.cpu-0");
  Settle();
  EXPECT_EQ(Holds("default.cpu-0"), (std::vector<std::string>{"a", "b"}));
}

TEST_F(ReconcilerTest, FleetServesModelsOfOtherNamespacesOnlyWhileAllowed) {
  nodes_.Attach("default.cpu-0");
  ApplyModel("a");
  ApplyGuest("g");
  Settle();
  EXPECT_EQ(Holds("default.cpu-0"), std::vector<std::string>{"a"});
  EXPECT_EQ(GuestCondition("g", "Ready"), "False: NamespaceNotAllowed");
  EXPECT_EQ(GuestCondition("g", "Stalled"), "True: NamespaceNotAllowed");

  Apply(api::kServingFleetKind, "cpu", {{"allowedNamespaces", {{"from", "Names"}, {"names", {"team"}}}}});
  Settle();
  EXPECT_EQ(Holds("default.cpu-0"), (std::vector<std::string>{"a", "g"}));
  EXPECT_EQ(GuestCondition("g", "Stalled"), "False: None");

  Apply(api::kServingFleetKind, "cpu", Json::object());
  Settle();
  EXPECT_EQ(Holds("default.cpu-0"), std::vector<std::string>{"a"});
  EXPECT_EQ(GuestCondition("g", "Ready"), "False: NamespaceNotAllowed");
}

TEST_F(ReconcilerTest, ModelAboveTheQuotaWaitsUntilAnotherIsDeleted) {
  Apply(api::kServingFleetKind, "cpu",
        {{"allowedNamespaces", {{"from", "All"}}}, {"quotas", {{"perNamespace", {{"modelsMax", 1}}}}}});
  nodes_.Attach("default.cpu-0");
  ApplyGuest("g");
  Settle();
  ApplyGuest("f");
  ApplyModel("a");
  Settle();
  EXPECT_EQ(Holds("default.cpu-0"), (std::vector<std::string>{"a", "g"})) << "f comes before g, but g already serves";
  EXPECT_EQ(GuestCondition("f", "Ready"), "False: AboveQuota");
  const api::Key g{api::kModelKind, "team", "g"};
  ASSERT_TRUE(disk_->Delete(g, disk_->Get(g)->metadata.uid));
  Settle({g});
  EXPECT_EQ(Holds("default.cpu-0"), (std::vector<std::string>{"a", "f"}));
}

TEST_F(ReconcilerTest, UnreadableFleetRemovesNoModelFromItsNodes) {
  Apply(api::kServingFleetKind, "cpu", {{"allowedNamespaces", {{"from", "All"}}}});
  nodes_.Attach("default.cpu-0");
  ApplyModel("a");
  ApplyGuest("g");
  Settle();
  std::ofstream(dir_ / ".longshore/objects/ServingFleet/default/cpu.json") << "{";
  Settle({ModelKey("a"), {api::kModelKind, "team", "g"}});
  EXPECT_EQ(Holds("default.cpu-0"), (std::vector<std::string>{"a", "g"}));
}

TEST_F(ReconcilerTest, EndOfARolloutIsReportedOnceAndOnlyAfterItIsStored) {
  ApplyModel("m");
  Settle();
  nodes_.Attach("default.cpu-0");
  Settle();
  nodes_.Attach("default.cpu-0", {{"m", 1}});
  disk_->full_for = {ModelKey("m")};
  Settle();
  EXPECT_TRUE(ended_.empty());
  disk_->full_for.clear();
  due_.insert(ModelKey("m"));
  Settle();
  due_.insert(ModelKey("m"));
  Settle();
  EXPECT_EQ(ended_, std::vector<std::string>{"Model default/m: Completed"});
}

TEST_F(ReconcilerTest, FailedStatusWriteDoesNotBlockSnapshots) {
  ApplyModel("a");
  ApplyModel("b");
  Settle();
  disk_->full_for = {ModelKey("a"), kFleetKey};
  nodes_.Attach("default.cpu-0");
  Settle();
  EXPECT_EQ(Holds("default.cpu-0"), (std::vector<std::string>{"a", "b"}));
  const control::DesiredState& snapshot = nodes_.messages.at("default.cpu-0").front().snapshot().state();
  EXPECT_EQ(snapshot.models(0).versions_size(), 0) << "a's rollout is not stored";
  EXPECT_EQ(snapshot.models(1).versions_size(), 1);
}

TEST_F(ReconcilerTest, UnreadableModelDoesNotBlockSnapshotsOfNewNodes) {
  ApplyModel("a");
  ApplyModel("b");
  Damage("a");
  Settle();
  nodes_.Attach("default.cpu-0");
  Settle();
  EXPECT_EQ(Holds("default.cpu-0"), std::vector<std::string>{"b"});
  EXPECT_THAT(ConditionOf("ModelsReadable"), HasSubstr("False: Damaged: Model default/a: " + dir_.string()));
}

TEST_F(ReconcilerTest, NodeKeepsServingAnUnreadableModel) {
  ApplyModel("a");
  ApplyModel("b");
  Damage("a");
  Settle();
  nodes_.Attach("default.cpu-0", {{"a", 1}});
  Settle();
  EXPECT_EQ(Holds("default.cpu-0"), std::vector<std::string>{"no snapshot"});
  std::filesystem::remove(dir_ / ".longshore/objects/Model/default/a.json");
  Settle({ModelKey("a")});
  Settle();
  EXPECT_EQ(Holds("default.cpu-0"), std::vector<std::string>{"b"}) << "it was deleted";
}

TEST_F(ReconcilerTest, UnreadableModelOfAnotherNamespaceBlocksNothing) {
  store::Object other;
  other.kind = api::kModelKind;
  other.metadata.name = "x";
  other.metadata.namespace_ = "elsewhere";
  other.spec = {{"fleet", "cpu"}, {"source", {{"uri", "file:///models/x"}}}, {"version", 1}};
  ASSERT_TRUE(disk_->Apply(other));
  std::ofstream(dir_ / ".longshore/objects/Model/elsewhere/x.json") << "{";
  ApplyModel("a");
  Settle();
  nodes_.Attach("default.cpu-0", {{"a", 1}, {"deleted", 1}});
  Settle();
  EXPECT_EQ(Holds("default.cpu-0"), std::vector<std::string>{"a"});
}

TEST_F(ReconcilerTest, KnownModelThatBecomesUnreadableBlocksNothing) {
  ApplyModel("a");
  Settle();
  Damage("a");
  Settle({ModelKey("a")});
  nodes_.Attach("default.cpu-0", {{"a", 1}, {"deleted", 1}});
  Settle();
  EXPECT_EQ(Holds("default.cpu-0"), std::vector<std::string>{"a"});
}

TEST_F(ReconcilerTest, WallClockJumpDoesNotEndTheGraceTime) {
  ApplyModel("a");
  Settle();
  nodes_.Attach("default.cpu-0", {{"a", 1}});
  Settle();
  nodes_.Leave("default.cpu-0");
  const auto nodes_seen = [&] {
    Settle({kFleetKey, ModelKey("a")});
    return api::ModelStatusFromJson(disk_->Get(ModelKey("a"))->status)->nodes.size();
  };
  clock_.Advance(std::chrono::hours(1));
  EXPECT_EQ(nodes_seen(), 1U);
  clock_.Advance(-std::chrono::hours(2));
  timer_.Advance(std::chrono::seconds(4));
  EXPECT_EQ(nodes_seen(), 0U);
}

TEST_F(ReconcilerTest, NodeThatCannotBeRemovedDoesNotBlockOthers) {
  Apply(api::kServingFleetKind, "cpu", {{"replicas", {{"min", 4}, {"max", 4}}}});
  Settle();
  Apply(api::kServingFleetKind, "cpu", {{"replicas", {{"min", 1}, {"max", 1}}}});
  processes_.staying = {"default.cpu-3"};
  Settle();
  EXPECT_EQ(processes_.nodes.size(), 2U);
  EXPECT_EQ(ConditionOf("Scaled"), "False: NodesInTrouble: default.cpu-3 cannot be removed");
  ASSERT_TRUE(disk_->Delete(kFleetKey, disk_->Get(kFleetKey)->metadata.uid));
  Settle();
  EXPECT_EQ(processes_.nodes.size(), 1U);
  processes_.staying = {};
  Settle();
  EXPECT_TRUE(processes_.nodes.empty());
}

TEST_F(ReconcilerTest, ModelThatBecomesUnreadableKeepsItsLastDecision) {
  ApplyModel("a");
  Settle();
  nodes_.Attach("default.cpu-0", {{"a", 1}});
  Settle();
  Damage("a");
  processes_.nodes["default.cpu-1"] = {.node = "default.cpu-1", .started_at = {}, .last_exit = {}, .trouble = {}};
  nodes_.Attach("default.cpu-1");
  Settle({ModelKey("a"), kFleetKey});
  EXPECT_EQ(Holds("default.cpu-1"), std::vector<std::string>{"a"});
}

TEST_F(ReconcilerTest, NodeThatCannotBeStartedSetsAConditionAndBlocksNothing) {
  ApplyModel("a");
  Settle();
  nodes_.Attach("default.cpu-0");
  Apply(api::kServingFleetKind, "cpu", {{"replicas", {{"min", 2}, {"max", 2}}}});
  processes_.starting = Unavailable("cannot write node.json: no space left on device");
  Settle();
  EXPECT_EQ(ConditionOf("Scaled"), "False: NodesInTrouble: cannot write node.json: no space left on device");
  EXPECT_EQ(ConditionOf("Stalled"), "True: NeedsHelp: cannot write node.json: no space left on device");
  EXPECT_EQ(Holds("default.cpu-0"), std::vector<std::string>{"a"});
  processes_.starting = {};
  Settle();
  EXPECT_EQ(ConditionOf("Scaled"), "True: NodesAsWanted: ");
  EXPECT_EQ(ConditionOf("Stalled"), "False: None: ");
}

TEST_F(ReconcilerTest, NodeWithoutAStoredRecordSetsACondition) {
  Settle();
  processes_.nodes.at("default.cpu-0").trouble = "it is not written down: disk full";
  Settle();
  EXPECT_THAT(ConditionOf("Scaled"), HasSubstr("default.cpu-0: it is not written down: disk full"));
}

TEST_F(ReconcilerTest, ReportTriggersReconciliationOfTheChangedModelsOnly) {
  ApplyModel("a");
  ApplyModel("b");
  Settle();
  nodes_.Attach("default.cpu-0");
  Settle();
  Settle();  // After this call, the FleetBook has a view in which the node has its snapshot.
  const auto reconciled_at = [&] {
    due_.clear();
    EXPECT_TRUE(reconciler_->Reconcile(kFleetKey));
    return std::exchange(due_, {});
  };
  EXPECT_TRUE(reconciled_at().empty()) << "the report is unchanged";
  nodes::Unshared(nodes_.views.at("default.cpu-0").report).add_sources()->set_served_name("b");
  EXPECT_EQ(reconciled_at(), std::set<api::Key>{ModelKey("b")}) << "its archive source changed";
  nodes::Unshared(nodes_.views.at("default.cpu-0").report).clear_sources();
  EXPECT_EQ(reconciled_at(), std::set<api::Key>{ModelKey("b")});
  nodes::Unshared(nodes_.views.at("default.cpu-0").report).add_rules()->set_served_name("b");
  EXPECT_EQ(reconciled_at(), std::set<api::Key>{ModelKey("b")}) << "its match rules do not work any more";
  nodes::Unshared(nodes_.views.at("default.cpu-0").report).clear_rules();
  EXPECT_EQ(reconciled_at(), std::set<api::Key>{ModelKey("b")});
  nodes_.Attach("default.cpu-0", {{"a", 1}});
  EXPECT_EQ(reconciled_at(), std::set<api::Key>{ModelKey("a")});
  nodes::Unshared(nodes_.views.at("default.cpu-0").report).mutable_versions(0)->mutable_evidence()->set_requests(5);
  nodes::Unshared(nodes_.views.at("default.cpu-0").report).mutable_load()->set_started(5);
  EXPECT_TRUE(reconciled_at().empty());
  nodes_.Attach("default.cpu-0");
  EXPECT_EQ(reconciled_at(), std::set<api::Key>{ModelKey("a")}) << "it is no longer reported";
  nodes_.Leave("default.cpu-0");
  EXPECT_EQ(reconciled_at(), (std::set<api::Key>{ModelKey("a"), ModelKey("b"), kFleetKey}))
      << "the fleet after the grace time";
}

TEST_F(ReconcilerTest, ModelNamesTheNodesOnWhichItsMatchRulesDoNotWork) {
  const Json routes = {{{"name", "r"}, {"match", {{"clients", {"web"}}}}, {"to", "Stable"}}};
  Apply(
      api::kModelKind, "m",
      {{"fleet", "cpu"}, {"source", {{"uri", "file:///models/m"}}}, {"version", 1}, {"rollout", {{"routes", routes}}}});
  due_.insert(ModelKey("m"));
  Settle();
  const auto rules_applied = [&] {
    Settle();
    const std::vector<api::Condition> conditions = StatusOf("m").conditions;
    const auto found = std::ranges::find(conditions, "RulesApplied", &api::Condition::type);
    return found == conditions.end() ? "none" : found->status + ": " + found->reason + ": " + found->message;
  };
  nodes_.Attach("default.cpu-0", {{"m", 1}});
  EXPECT_EQ(rules_applied(), "none");
  control::RulesReport& rules = *nodes::Unshared(nodes_.views.at("default.cpu-0").report).add_rules();
  rules.set_served_name("m");
  rules.set_problem(control::RulesReport::UNKNOWN_CLIENT);
  rules.set_message("no tokens");
  EXPECT_THAT(rules_applied(), HasSubstr("False: UnknownClients: match rules do not work on 1 of 1 nodes"));
  EXPECT_THAT(rules_applied(), HasSubstr("node default.cpu-0: no tokens"));
  nodes_.Attach("default.cpu-0", {{"m", 1}});
  EXPECT_EQ(rules_applied(), "True: None: ");
  nodes_.views.at("default.cpu-0").hello.set_match_rules(false);
  EXPECT_THAT(rules_applied(), HasSubstr("False: OldRelease: "));
}

TEST_F(ReconcilerTest, ShortFirstRolloutIsWrittenOnce) {
  Restart(std::chrono::seconds(1));
  Settle();
  nodes_.Attach("default.cpu-0");
  ApplyModel("a");
  Settle();
  EXPECT_EQ(Holds("default.cpu-0"), std::vector<std::string>{"a"});
  EXPECT_EQ(disk_->writes[ModelKey("a")], 0) << "the node already has the decision";
  EXPECT_TRUE(events_.empty());
  nodes_.Attach("default.cpu-0", {{"a", 1}});
  Settle();
  EXPECT_EQ(disk_->writes[ModelKey("a")], 1);
  EXPECT_EQ(StatusOf("a").stable_version, 1);
  EXPECT_EQ(StatusOf("a").history.size(), 3U) << "started, validated, promoted";
  std::vector<std::string> reasons;
  for (const Event& event : events_) reasons.push_back(event.reason);
  EXPECT_EQ(reasons, (std::vector<std::string>{"Started", "Validated", "Promoted"}));
}

TEST_F(ReconcilerTest, LongFirstRolloutIsWrittenAfterADelayAndContinuesFromThere) {
  Restart(std::chrono::seconds(1));
  Settle();
  nodes_.Attach("default.cpu-0");
  ApplyModel("a");
  Settle();
  timer_.Advance(std::chrono::seconds(1));
  Settle({ModelKey("a")});
  EXPECT_EQ(disk_->writes[ModelKey("a")], 1);
  EXPECT_EQ(StatusOf("a").rollout.phase, api::RolloutPhase::kValidating);
  const size_t messages = nodes_.messages.at("default.cpu-0").size();
  Restart(std::chrono::seconds(1));
  nodes_.Attach("default.cpu-0", {{"a", 1}});
  Settle({kFleetKey, ModelKey("a")});
  EXPECT_EQ(StatusOf("a").stable_version, 1);
  EXPECT_EQ(StatusOf("a").rollout.attempt, 1) << "another controller continues the same rollout";
  EXPECT_GT(nodes_.messages.at("default.cpu-0").size(), messages);
}

TEST_F(ReconcilerTest, NewManifestReplacesAnUnwrittenDecision) {
  Restart(std::chrono::seconds(1));
  Settle();
  nodes_.Attach("default.cpu-0");
  ApplyModel("a");
  Settle();
  Apply(api::kModelKind, "a", {{"fleet", "cpu"}, {"source", {{"uri", "file:///models/a"}}}, {"version", 2}});
  Settle({ModelKey("a")});
  nodes_.Attach("default.cpu-0", {{"a", 2}});
  Settle();
  EXPECT_EQ(StatusOf("a").stable_version, 2);
  EXPECT_EQ(disk_->writes[ModelKey("a")], 1);
}

class EvidenceOfAStep : public ReconcilerTest {
 protected:
  static constexpr const char* kNode = "default.cpu-0";

  EvidenceOfAStep() {
    Restart(Duration(0), std::chrono::seconds(15));
    Settle();
    nodes_.Attach(kNode, {{"a", 1}});
    ApplyModel("a");
    Settle();
    ApplyVersion2("1h");
    nodes_.Attach(kNode, {{"a", 1}, {"a", 2}});
    Settle();
    EXPECT_EQ(StatusOf("a").rollout.phase, api::RolloutPhase::kStep);
    AnswerFor(3);
    EXPECT_EQ(StatusOf("a").rollout.verdict.result, "Pass") << "a changed result is written at once";
    written_ = disk_->writes[ModelKey("a")];
  }
  void ApplyVersion2(const std::string& hold) {
    Apply(api::kModelKind, "a",
          {{"fleet", "cpu"},
           {"source", {{"uri", "file:///models/a"}}},
           {"version", 2},
           {"rollout", {{"steps", {{{"weight", 50}, {"proof", "Sampled"}}}}, {"hold", hold}}}});
    due_.insert(ModelKey("a"));
  }
  // The node answers a hundred requests in each of the next `seconds` seconds.
  void AnswerFor(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      clock_.Advance(std::chrono::seconds(1));
      timer_.Advance(std::chrono::seconds(1));
      nodes_.Answered(kNode, answered_ += 100);
      Settle({kFleetKey, ModelKey("a")});
    }
  }
  int Writes() { return disk_->writes[ModelKey("a")] - written_; }
  double Requests() { return StatusOf("a").rollout.verdict.numbers["candidateRequests"]; }

  int written_ = 0;
  int64_t answered_ = 0;
};

TEST_F(EvidenceOfAStep, IsWrittenAtGrowingIntervals) {
  AnswerFor(14);
  EXPECT_EQ(Writes(), 0);
  AnswerFor(4);
  EXPECT_EQ(Writes(), 1);
  EXPECT_GE(Requests(), 1500);
  AnswerFor(15);
  EXPECT_EQ(Writes(), 1) << "after as long as the step had lasted";
  AnswerFor(300);
  EXPECT_THAT(Writes(), testing::AllOf(testing::Ge(6), testing::Le(8))) << "then every minute";
  EXPECT_GE(Requests(), answered_ - 6200);
  AnswerFor(1800);
  const int before = Writes();
  AnswerFor(1000);
  EXPECT_THAT(Writes() - before, testing::AllOf(testing::Ge(3), testing::Le(5))) << "and at last every five minutes";
}

class EvidenceOfAShadow : public ReconcilerTest {
 protected:
  static constexpr const char* kNode = "default.cpu-0";

  EvidenceOfAShadow() {
    Restart(Duration(0), std::chrono::seconds(15));
    Settle();
    nodes_.Attach(kNode, {{"a", 1}});
    ApplyModel("a");
    Settle();
    Apply(
        api::kModelKind, "a",
        {{"fleet", "cpu"},
         {"source", {{"uri", "file:///models/a"}}},
         {"version", 2},
         {"rollout",
          {{"strategy", "Shadow"},
           {"shadow", {{"for", "0s"}, {"proof", "Sampled"}, {"compare", {{{"output", "o"}, {"measure", "Top1"}}}}}}}}});
    due_.insert(ModelKey("a"));
    nodes_.Attach(kNode, {{"a", 1}, {"a", 2}});
    Settle();
    EXPECT_EQ(StatusOf("a").rollout.phase, api::RolloutPhase::kShadow);
  }
  void Pair(int64_t pairs, int64_t differs) {
    control::OutputEvidence output;
    output.set_rule("o: Top1");
    output.set_pairs(pairs);
    output.set_differs(differs);
    clock_.Advance(std::chrono::seconds(1));
    timer_.Advance(std::chrono::seconds(1));
    nodes_.Paired(kNode, 2, output);
    Settle();
    Settle({ModelKey("a")});
  }
};

TEST_F(EvidenceOfAShadow, LetsTheNodeMakePairsAndWaitsForAPersonWhenTheyAgree) {
  const control::ModelState state = nodes_.messages[kNode].back().change().model();
  ASSERT_EQ(state.versions_size(), 2);
  EXPECT_TRUE(state.versions(1).shadow());
  EXPECT_EQ(state.versions(1).weight_bp(), 0);
  EXPECT_EQ(state.validation().output_rules(0).output(), "o");
  Pair(60, 0);
  EXPECT_EQ(StatusOf("a").rollout.paused_reason, "");
  Pair(120, 0);
  EXPECT_EQ(StatusOf("a").rollout.phase, api::RolloutPhase::kShadow);
  EXPECT_EQ(StatusOf("a").rollout.paused_reason, "ShadowPassed");
  EXPECT_EQ(StatusOf("a").rollout.verdict.numbers["outputPairs"], 120);
}

TEST_F(EvidenceOfAShadow, RollsBackACandidateWhoseOutputsDiffer) {
  Pair(60, 4);
  Pair(400, 40);
  EXPECT_EQ(StatusOf("a").rollout.phase, api::RolloutPhase::kRolledBack);
  EXPECT_EQ(StatusOf("a").rollout.verdict.reason, "OutputDiffers");
  EXPECT_EQ(StatusOf("a").stable_version, 1);
}

TEST_F(EvidenceOfAStep, SurvivesAFailedWrite) {
  disk_->full_for.insert(ModelKey("a"));
  AnswerFor(40);
  disk_->full_for.clear();
  AnswerFor(1);
  EXPECT_EQ(Writes(), 1);
  EXPECT_GE(Requests(), answered_ - 200);
}

TEST_F(EvidenceOfAStep, IsDroppedWhenAnotherWriterChangesTheStatus) {
  AnswerFor(10);
  const store::Object object = disk_->Get(ModelKey("a")).value();
  Json status = object.status;
  status["history"] = Json::array();
  ASSERT_TRUE(disk_->PutStatus(ModelKey("a"), object.metadata.uid, object.metadata.resource_version, status));
  AnswerFor(20);
  EXPECT_EQ(StatusOf("a").rollout.phase, api::RolloutPhase::kStep);
  EXPECT_TRUE(StatusOf("a").history.empty()) << "the stored status wins";
}

TEST_F(EvidenceOfAStep, IsWrittenTogetherWithTheDecisionItCauses) {
  AnswerFor(5);
  ApplyVersion2("3s");
  AnswerFor(2);
  EXPECT_EQ(StatusOf("a").stable_version, 2);
  EXPECT_GE(Requests(), 500) << "evidence before the new manifest counts";
}

TEST_F(EvidenceOfAStep, IsPartlyLostForALaterController) {
  AnswerFor(5);
  Restart(Duration(0), std::chrono::seconds(15));
  AnswerFor(20);
  EXPECT_EQ(StatusOf("a").rollout.phase, api::RolloutPhase::kStep);
  EXPECT_EQ(StatusOf("a").rollout.attempt, 2);
  EXPECT_GE(Requests(), 1000);
  EXPECT_LT(Requests(), answered_ - 300);
}

TEST_F(EvidenceOfAStep, IsCompleteWhenACommandActs) {
  AnswerFor(5);
  const store::Object object = disk_->Get(ModelKey("a")).value();
  const Json command = {
      {"id", "x"}, {"verb", "promote"}, {"generation", object.metadata.generation}, {"attempt", 2}, {"step", 0}};
  ASSERT_TRUE(disk_->PatchStatus(ModelKey("a"), object.metadata.uid, object.metadata.resource_version,
                                 {{"commands", {command}}}));
  Settle({ModelKey("a")});
  EXPECT_EQ(StatusOf("a").stable_version, 2);
  EXPECT_GE(Requests(), 400);
  EXPECT_EQ(StatusOf("a").answers.at(0).result, api::CommandResult::kDone);
}

TEST_F(EvidenceOfAStep, IsCompleteWhenACommandOfRelease01Acts) {
  AnswerFor(5);
  const store::Object object = disk_->Get(ModelKey("a")).value();
  Json status = object.status;
  status["command"] = {{"verb", "promote"}, {"generation", object.metadata.generation}, {"step", 0}};
  ASSERT_TRUE(disk_->PutStatus(ModelKey("a"), object.metadata.uid, object.metadata.resource_version, status));
  Settle({ModelKey("a")});
  EXPECT_EQ(StatusOf("a").stable_version, 2);
  EXPECT_GE(Requests(), 400);
}

using TrafficOfAModel = EvidenceOfAStep;

TEST_F(TrafficOfAModel, IsRecordedAfterAMinuteAndThenLessAndLessOften) {
  AnswerFor(50);
  EXPECT_EQ(StatusOf("a").traffic, api::Traffic{});
  AnswerFor(20);
  const api::Traffic first = StatusOf("a").traffic;
  EXPECT_GE(first.over, std::chrono::seconds(60));
  EXPECT_NEAR(first.requests_per_second, 200, 10) << "each version answers 100 in each second";
  EXPECT_EQ(first.error_rate, 0);
  AnswerFor(40);
  EXPECT_EQ(StatusOf("a").traffic, first);
  AnswerFor(40);
  EXPECT_GE(StatusOf("a").traffic.over, std::chrono::seconds(120));
}

TEST_F(TrafficOfAModel, SurvivesARestartAndAClientOfRelease01) {
  AnswerFor(70);
  const api::Traffic first = StatusOf("a").traffic;
  ASSERT_GT(first.over, Duration(0));
  const store::Object object = disk_->Get(ModelKey("a")).value();
  Json status = object.status;
  status.erase("traffic");
  status["command"] = {{"verb", "pause"}, {"generation", object.metadata.generation}, {"step", 0}};
  ASSERT_TRUE(disk_->PutStatus(ModelKey("a"), object.metadata.uid, object.metadata.resource_version, status));
  Settle({ModelKey("a")});
  EXPECT_EQ(StatusOf("a").traffic, first);
  Restart(Duration(0), std::chrono::seconds(15));
  AnswerFor(10);
  EXPECT_EQ(StatusOf("a").traffic, first);
  AnswerFor(70);
  EXPECT_GE(StatusOf("a").traffic.over, std::chrono::seconds(120));
  EXPECT_NEAR(StatusOf("a").traffic.requests_per_second, 200, 20);
}

class CommandsOfAModel : public ReconcilerTest {
 protected:
  static constexpr const char* kNode = "default.cpu-0";

  // Version 2 has replaced version 1, which is warm.
  CommandsOfAModel() {
    Settle();
    nodes_.Attach(kNode, {{"a", 1}});
    ApplyModel("a");
    Settle();
    Apply(api::kModelKind, "a",
          {{"fleet", "cpu"},
           {"source", {{"uri", "file:///models/a"}}},
           {"version", 2},
           {"rollout", {{"strategy", "Immediate"}}}});
    nodes_.Attach(kNode, {{"a", 1}, {"a", 2}});
    Settle({ModelKey("a"), kFleetKey});
    EXPECT_EQ(StatusOf("a").stable_version, 2);
    ended_.clear();
    events_.clear();
  }
  // Adds the command to the queue, as `longshore` does.
  void Give(const std::string& id, const std::string& verb) {
    const store::Object object = disk_->Get(ModelKey("a")).value();
    const api::ModelStatus status = StatusOf("a");
    Json queue = object.status.value("commands", Json::array());
    queue.push_back(api::ToJson(api::Command{.verb = verb,
                                             .generation = object.metadata.generation,
                                             .step = status.rollout.step_index,
                                             .id = id,
                                             .attempt = status.rollout.attempt}));
    ASSERT_TRUE(disk_->PatchStatus(ModelKey("a"), object.metadata.uid, object.metadata.resource_version,
                                   {{"commands", queue}}));
  }
  std::vector<std::string> Answers() {
    std::vector<std::string> answers;
    for (const api::CommandAnswer& answer : StatusOf("a").answers)
      answers.push_back(answer.id + " " + ToString(answer));
    return answers;
  }
  // Version -> weight on the node, for the versions that it loads.
  std::map<int64_t, int> WeightsOnNode() {
    std::map<int64_t, int> weights;
    for (const control::FromController& message : nodes_.messages.at(kNode)) {
      if (!message.has_change() || message.change().served_name() != "a") continue;
      weights.clear();
      for (const control::VersionState& version : message.change().model().versions()) {
        if (version.load()) weights[version.version()] = version.weight_bp();
      }
    }
    return weights;
  }
};

TEST_F(CommandsOfAModel, UndoReachesTheNodesBeforeTheStatusIsWritten) {
  Give("x", "undo");
  disk_->full_for.insert(ModelKey("a"));
  Settle({ModelKey("a")});
  EXPECT_EQ(StatusOf("a").stable_version, 2);
  EXPECT_EQ(WeightsOnNode(), (std::map<int64_t, int>{{1, 10000}, {2, 0}})) << "version 2 may have to serve again";
  EXPECT_TRUE(events_.empty());
  disk_->full_for.clear();
  const size_t messages = nodes_.messages.at(kNode).size();
  Settle({ModelKey("a")});
  EXPECT_EQ(StatusOf("a").stable_version, 1);
  EXPECT_EQ(nodes_.messages.at(kNode).size(), messages) << "the node has the decision already";
  EXPECT_THAT(Answers(), testing::ElementsAre(HasSubstr("x undo: done: version 1 serves all requests")));
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_EQ(events_[0].reason, "Undone");
  EXPECT_TRUE(ended_.empty()) << "the rollout had ended long before";
}

TEST_F(CommandsOfAModel, WithdrawnUndoLeavesBothVersionsLoaded) {
  Give("x", "undo");
  disk_->full_for.insert(ModelKey("a"));
  Settle({ModelKey("a")});
  disk_->full_for.clear();
  const store::Object object = disk_->Get(ModelKey("a")).value();
  ASSERT_TRUE(
      disk_->PatchStatus(ModelKey("a"), object.metadata.uid, object.metadata.resource_version, {{"commands", Json()}}));
  Settle({ModelKey("a")});
  EXPECT_EQ(WeightsOnNode(), (std::map<int64_t, int>{{1, 0}, {2, 10000}}));
  EXPECT_EQ(StatusOf("a").stable_version, 2);
}

TEST_F(CommandsOfAModel, AnswersSurviveAClientOfRelease01) {
  Give("x", "undo");
  Settle({ModelKey("a")});
  const store::Object object = disk_->Get(ModelKey("a")).value();
  Json status = object.status;
  status.erase("answers");
  status["command"] = {{"verb", "pause"}, {"generation", object.metadata.generation}, {"step", 0}};
  ASSERT_TRUE(disk_->PutStatus(ModelKey("a"), object.metadata.uid, object.metadata.resource_version, status));
  Settle({ModelKey("a")});
  EXPECT_EQ(StatusOf("a").command_result, "pause: refused: no rollout is under way");
  EXPECT_THAT(Answers(), testing::ElementsAre(HasSubstr("x undo: done")));
}

TEST_F(CommandsOfAModel, AnswerThatCouldNotBeStoredIsNotKept) {
  Give("x", "undo");
  disk_->full_for.insert(ModelKey("a"));
  Settle({ModelKey("a")});
  Settle({ModelKey("a")});
  disk_->full_for.clear();
  Settle({ModelKey("a")});
  EXPECT_EQ(StatusOf("a").stable_version, 1) << "the command was executed, not only answered";
  EXPECT_EQ(Answers().size(), 1U);
}

TEST_F(CommandsOfAModel, CommandDuringAFirstRolloutIsAnsweredAtOnce) {
  Restart(std::chrono::seconds(1));
  ApplyModel("b");
  Settle({kFleetKey, ModelKey("a"), ModelKey("b")});
  EXPECT_EQ(disk_->writes[ModelKey("b")], 0) << "the status of a first rollout may wait for a second";
  const store::Object object = disk_->Get(ModelKey("b")).value();
  ASSERT_TRUE(disk_->PatchStatus(ModelKey("b"), object.metadata.uid, object.metadata.resource_version,
                                 {{"commands", {{{"id", "x"}, {"verb", "undo"}, {"generation", 1}}}}}));
  Settle({ModelKey("b")});
  ASSERT_EQ(StatusOf("b").answers.size(), 1U);
  EXPECT_EQ(ToString(StatusOf("b").answers[0]), "undo: done: the rollout of version 1 has ended");
  EXPECT_EQ(StatusOf("b").rollout.phase, api::RolloutPhase::kRolledBack);
}

TEST_F(CommandsOfAModel, RefusedCommandDuringAFirstRolloutIsAnsweredAtOnce) {
  Restart(std::chrono::seconds(1));
  ApplyModel("b");
  Settle({kFleetKey, ModelKey("a"), ModelKey("b")});
  const store::Object object = disk_->Get(ModelKey("b")).value();
  ASSERT_TRUE(disk_->PatchStatus(ModelKey("b"), object.metadata.uid, object.metadata.resource_version,
                                 {{"commands", {{{"id", "x"}, {"verb", "resume"}, {"generation", 1}}}}}));
  Settle({ModelKey("b")});
  ASSERT_EQ(StatusOf("b").answers.size(), 1U);
  EXPECT_EQ(StatusOf("b").answers[0].result, api::CommandResult::kRefused);
}

TEST_F(CommandsOfAModel, CommandsOfARefusedModelAreAnswered) {
  Apply(api::kServingFleetKind, "cpu", {{"quotas", {{"modelsMax", 1}}}});
  ApplyGuest("g");
  Settle();
  const api::Key guest{api::kModelKind, "team", "g"};
  const store::Object object = disk_->Get(guest).value();
  ASSERT_TRUE(disk_->PatchStatus(guest, object.metadata.uid, object.metadata.resource_version,
                                 {{"commands", {{{"id", "x"}, {"verb", "retry"}, {"generation", 1}}}}}));
  Settle({guest});
  const auto status = api::ModelStatusFromJson(disk_->Get(guest)->status).value();
  EXPECT_TRUE(status.commands.empty());
  ASSERT_EQ(status.answers.size(), 1U);
  EXPECT_THAT(ToString(status.answers[0]), HasSubstr("retry: refused: "));
}

TEST_F(ReconcilerTest, OnlyNodesOfAModelAndItsHomeNodesReceiveIt) {
  constexpr int kNodes = 40;
  Apply(api::kServingFleetKind, "cpu", {{"replicas", {{"min", kNodes}, {"max", kNodes}}}});
  Settle();
  for (const auto& [node, _] : processes_.nodes) nodes_.Attach(node);
  timer_.Advance(std::chrono::seconds(1));  // A large fleet needs a pause between messages to all nodes.
  Apply(api::kModelKind, "a",
        {{"fleet", "cpu"}, {"source", {{"uri", "file:///models/a"}}}, {"version", 1}, {"replicas", 1}});
  Settle({kFleetKey, ModelKey("a")});
  const auto told = [&] {
    std::set<std::string> nodes;
    for (const auto& [node, view] : nodes_.views) {
      if (view.sent && view.sent->models.contains("a")) nodes.insert(node);
    }
    return nodes;
  };
  const std::set<std::string> first = told();
  EXPECT_EQ(first.size(), node_contract::kHomesMax) << "the node that loads it is also a home node";

  const std::string gone = *first.begin();
  nodes_.Leave(gone);
  processes_.nodes.erase(gone);
  Settle();
  timer_.Advance(std::chrono::seconds(1));
  Settle();
  Settle();
  EXPECT_EQ(told().size(), node_contract::kHomesMax) << "another node became a home node";
  EXPECT_FALSE(told().contains(gone));
}

TEST_F(ReconcilerTest, TenThousandNodesComeAndGoWithoutGrowingMemory) {
  ApplyModel("a");
  Settle();
  nodes_.Attach("default.cpu-0", {{"a", 1}});
  constexpr int kNodes = 10000;
  for (int i = 1; i <= kNodes; ++i) {
    const std::string node = fmt::format("default.cpu-{}", i);
    nodes_.Attach(node);
    EXPECT_TRUE(reconciler_->Reconcile(kFleetKey));
    EXPECT_EQ(nodes_.views.size(), 2U);
    nodes_.Leave(node);
    EXPECT_TRUE(reconciler_->Reconcile(kFleetKey));
    ASSERT_EQ(nodes_.views.size(), 1U);
  }
}

}  // namespace
}  // namespace longshore::reconcile
