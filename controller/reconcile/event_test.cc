#include "controller/reconcile/event.h"

#include <gtest/gtest.h>

namespace longshore::reconcile {
namespace {

api::ServingFleet Fleet(int desired, const std::string& stalled) {
  api::ServingFleet fleet;
  fleet.metadata.namespace_ = "vision";
  fleet.metadata.name = "cpu";
  fleet.metadata.uid = "u";
  fleet.status.autoscale.desired = desired;
  fleet.status.autoscale.message = "why";
  fleet.status.conditions = {{"Stalled", stalled, "PortInUse", "port 8500 is in use", 1, {}}};
  return fleet;
}

TEST(EventsOfAFleet, ReportAChangedNumberOfNodes) {
  EXPECT_TRUE(EventsOf(Fleet(2, "False"), Fleet(2, "False").status).empty());
  EXPECT_TRUE(EventsOf(Fleet(0, "False"), Fleet(2, "False").status).empty()) << "it is new";
  const auto out = EventsOf(Fleet(2, "False"), Fleet(3, "False").status);
  ASSERT_EQ(out.size(), 1);
  EXPECT_EQ(out[0].reason, "ScaledOut");
  EXPECT_EQ(out[0].message, "why");
  EXPECT_EQ(ToString(out[0].object), "ServingFleet vision/cpu");
  EXPECT_EQ(EventsOf(Fleet(3, "False"), Fleet(2, "False").status).at(0).reason, "ScaledIn");
}

TEST(EventsOfAFleet, ReportStalledOnce) {
  const auto begins = EventsOf(Fleet(2, "False"), Fleet(2, "True").status);
  ASSERT_EQ(begins.size(), 1);
  EXPECT_TRUE(begins[0].warning);
  EXPECT_EQ(begins[0].reason, "PortInUse");
  EXPECT_TRUE(EventsOf(Fleet(2, "True"), Fleet(2, "True").status).empty());
  EXPECT_TRUE(EventsOf(Fleet(2, "True"), Fleet(2, "False").status).empty());
}

api::Model Model(const std::string& stalled) {
  api::Model model;
  model.metadata.namespace_ = "vision";
  model.metadata.name = "digits";
  model.metadata.uid = "u";
  model.status.conditions = {{"Stalled", stalled, "NameTaken", "Model vision/other has this name", 1, {}}};
  return model;
}

TEST(EventsOfAModel, ReportStalledOnceUnlessADecisionIsAWarning) {
  const auto begins = EventsOf(Model("False"), Model("True").status, {});
  ASSERT_EQ(begins.size(), 1);
  EXPECT_TRUE(begins[0].warning);
  EXPECT_EQ(begins[0].reason, "NameTaken");
  EXPECT_EQ(ToString(begins[0].object), "Model vision/digits");
  EXPECT_TRUE(EventsOf(Model("True"), Model("True").status, {}).empty());
  EXPECT_TRUE(EventsOf(Model("True"), Model("False").status, {}).empty());
  const rollout::Event rolled_back{.warning = true, .reason = "RolledBack", .message = "why"};
  const auto told = EventsOf(Model("False"), Model("True").status, {rolled_back});
  ASSERT_EQ(told.size(), 1);
  EXPECT_EQ(told[0].reason, "RolledBack");
}

TEST(EventsOfAModel, ReportOnceWhatHoldsARolloutUp) {
  const auto held = [](int attempt, const std::string& why) {
    api::Model model = Model("False");
    model.status.rollout.id = fmt::format("u/3/{}", attempt);
    model.status.rollout.phase = api::RolloutPhase::kValidating;
    model.status.rollout.candidate = 3;
    model.status.conditions.push_back({"Reconciling", "True", "Validating", why, 1, {}});
    return model;
  };
  const auto begins = EventsOf(held(1, ""), held(1, "node a: no directory of version 3").status, {});
  ASSERT_EQ(begins.size(), 1);
  EXPECT_TRUE(begins[0].warning);
  EXPECT_EQ(begins[0].reason, "HeldUp");
  EXPECT_EQ(begins[0].message, "version 3: node a: no directory of version 3");
  EXPECT_TRUE(EventsOf(held(1, "node a: why"), held(1, "node a: why; node b: why").status, {}).empty());
  EXPECT_TRUE(EventsOf(held(1, "node a: why"), held(1, "").status, {}).empty());
  EXPECT_EQ(EventsOf(held(1, "node a: why"), held(2, "node a: why").status, {}).size(), 1) << "another attempt";
  api::Model serves = held(1, "version 3 is ready on 1 of 2 nodes");
  serves.status.rollout.phase = api::RolloutPhase::kCompleted;
  EXPECT_TRUE(EventsOf(held(1, ""), serves.status, {}).empty()) << "no rollout is under way";
}

TEST(EventsOfAModel, ReportEachPhaseAlsoOfTheFirstVersion) {
  const std::vector<rollout::Event> decided = {
      {false, "Started", "", 0}, {false, "Validated", "", 0}, {false, "Promoted", "", 100}};
  std::vector<std::string> reasons;
  for (const Event& event : EventsOf({}, {}, decided)) reasons.push_back(event.reason);
  EXPECT_EQ(reasons, (std::vector<std::string>{"Started", "Validated", "Promoted"}));
}

}  // namespace
}  // namespace longshore::reconcile
