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

TEST(EventsOfAFleet, TellWhenTheNumberOfItsNodesChanges) {
  EXPECT_TRUE(EventsOf(Fleet(2, "False"), Fleet(2, "False").status).empty());
  EXPECT_TRUE(EventsOf(Fleet(0, "False"), Fleet(2, "False").status).empty()) << "it is new";
  const auto out = EventsOf(Fleet(2, "False"), Fleet(3, "False").status);
  ASSERT_EQ(out.size(), 1);
  EXPECT_EQ(out[0].reason, "ScaledOut");
  EXPECT_EQ(out[0].message, "why");
  EXPECT_EQ(ToString(out[0].object), "ServingFleet vision/cpu");
  EXPECT_EQ(EventsOf(Fleet(3, "False"), Fleet(2, "False").status).at(0).reason, "ScaledIn");
}

TEST(EventsOfAFleet, TellOnceThatItIsStalled) {
  const auto begins = EventsOf(Fleet(2, "False"), Fleet(2, "True").status);
  ASSERT_EQ(begins.size(), 1);
  EXPECT_TRUE(begins[0].warning);
  EXPECT_EQ(begins[0].reason, "PortInUse");
  EXPECT_TRUE(EventsOf(Fleet(2, "True"), Fleet(2, "True").status).empty());
  EXPECT_TRUE(EventsOf(Fleet(2, "True"), Fleet(2, "False").status).empty());
}

}  // namespace
}  // namespace longshore::reconcile
