#include "controller/plan/plan.h"

#include <gtest/gtest.h>

namespace longshore::plan {
namespace {

api::Model Digits() {
  api::Model model;
  model.metadata.name = "digits";
  model.spec.served_name = "my_digits";
  model.spec.source_uri = "file:///models/digits";
  model.spec.version_labels["canary"] = 2;
  model.spec.slo.latency_target = std::chrono::milliseconds(50);
  model.status.stable_version = 1;
  model.status.digests[2] = "abc";
  return model;
}

rollout::Decision Split(const api::Model& model, int candidate_bp) {
  rollout::Decision decision;
  decision.status = model.status;
  decision.placement.salt = "u/2/1";
  decision.placement.versions = {
      {.version = 1, .weight_bp = 10000 - candidate_bp, .candidate = false, .trial = false, .nodes = {"a", "b"}},
      {.version = 2, .weight_bp = candidate_bp, .candidate = true, .trial = false, .nodes = {"a"}}};
  return decision;
}

TEST(Plan, SaysWhatANodeShouldHoldAndWhatItShouldOnlyKnow) {
  const api::Model model = Digits();
  const rollout::Decision decision = Split(model, 500);
  const control::ModelState a = BuildModelState(model, decision.placement, "a");
  const control::ModelState b = BuildModelState(model, decision.placement, "b");
  EXPECT_EQ(a.object(), "default/digits");
  EXPECT_EQ(a.slo_latency_ms(), 50);
  EXPECT_EQ(a.assignment().salt(), "u/2/1");
  EXPECT_EQ(a.labels().at("canary"), 2);
  ASSERT_EQ(a.versions_size(), 2);
  EXPECT_EQ(a.versions(0).role(), control::STABLE);
  EXPECT_FALSE(a.versions(0).has_guard());
  EXPECT_EQ(a.versions(1).role(), control::CANDIDATE);
  EXPECT_EQ(a.versions(1).digest(), "abc");
  EXPECT_TRUE(a.versions(1).guard().non_finite());
  EXPECT_TRUE(a.versions(1).load());
  EXPECT_FALSE(b.versions(1).load());
  EXPECT_EQ(b.versions(1).weight_bp(), 500);
}

TEST(Plan, WritesTheStatusFirstUnlessItIsAboutSafety) {
  const api::Model model = Digits();
  rollout::Decision decision = Split(model, 500);
  decision.status.command_result = "changed";
  const Plan forward = MakePlan(model, decision, {{"a", {}}, {"b", {}}});
  ASSERT_EQ(forward.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<WriteStatus>(forward.front()));
  decision.safety = true;
  const Plan safety = MakePlan(model, decision, {{"a", {}}, {"b", {}}});
  ASSERT_EQ(safety.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<WriteStatus>(safety.back()));
}

TEST(Plan, IsEmptyWhenEverythingIsAsItShouldBe) {
  const api::Model model = Digits();
  const rollout::Decision decision = Split(model, 500);
  std::vector<NodeHolds> holds;
  for (const char* node : {"a", "b"}) holds.push_back({node, BuildModelState(model, decision.placement, node)});
  EXPECT_TRUE(MakePlan(model, decision, holds).empty());
  const Plan plan = MakePlan(model, Split(model, 0), holds);
  EXPECT_EQ(plan.size(), 2u);
}

TEST(Plan, RemovesAModelOnlyWhereItIs) {
  const api::Model model = Digits();
  const Plan plan = MakeRemoval("my_digits", {{"a", BuildModelState(model, {}, "a")}, {"b", {}}});
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(std::get<SendModel>(plan[0]).node, "a");
  EXPECT_FALSE(std::get<SendModel>(plan[0]).state.has_value());
}

TEST(Plan, TheGuardFollowsTheErrorObjectiveWithinBounds) {
  api::Model model = Digits();
  const auto limit = [&] {
    return BuildModelState(model, Split(model, 500).placement, "a").versions(1).guard().error_rate_max();
  };
  EXPECT_DOUBLE_EQ(limit(), 0.5);
  model.spec.slo.error_rate = 0.02;
  EXPECT_DOUBLE_EQ(limit(), 0.2);
  model.spec.slo.error_rate = 0.0001;
  EXPECT_DOUBLE_EQ(limit(), 0.05);
}

TEST(Plan, PeersAreOrderedByName) {
  control::Peer b, a;
  b.set_node("b");
  a.set_node("a");
  api::ServingFleet fleet;
  fleet.metadata.name = "cpu";
  const control::FleetState state = BuildFleetState(fleet, {b, a});
  EXPECT_EQ(state.fleet(), "default/cpu");
  EXPECT_EQ(state.peers(0).node(), "a");
  EXPECT_EQ(state.connection_age_max_ms(), 30000);
}

}  // namespace
}  // namespace longshore::plan
