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

TEST(EventsOfAModel, ReportEachPhaseAlsoOfTheFirstVersion) {
  const std::vector<rollout::Event> decided = {
      {false, "Started", "", 0}, {false, "Validated", "", 0}, {false, "Promoted", "", 100}};
  std::vector<std::string> reasons;
  for (const Event& event : EventsOf({}, {}, decided)) reasons.push_back(event.reason);
  EXPECT_EQ(reasons, (std::vector<std::string>{"Started", "Validated", "Promoted"}));
}

}  // namespace
}  // namespace longshore::reconcile
