#include "controller/fleet/pods/pod.h"

#include <gtest/gtest.h>

#include "controller/fleet/pods/manifests.h"

namespace longshore::fleet::pods {
namespace {

Json Pending(Json status) {
  return {{"metadata",
           {{"name", "longshore-cpu-x"},
            {"namespace", "vision"},
            {"uid", "u"},
            {"creationTimestamp", "2023-11-14T22:13:20Z"},
            {"labels", {{kFleetLabel, "cpu"}}}}},
          {"status", std::move(status)}};
}
Json WithContainer(Json container) {
  container["name"] = "node";
  return Pending({{"phase", "Running"}, {"containerStatuses", Json::array({std::move(container)})}});
}

TEST(Pod, IsReadAsANodeOfItsFleet) {
  const Pod pod = PodFrom(Pending({{"phase", "Running"}})).value();
  EXPECT_EQ(pod.fleet, "vision/cpu");
  EXPECT_EQ(pod.info.node, "longshore-cpu-x");
  EXPECT_EQ(pod.info.state, NodeState::kRunning);
  EXPECT_EQ(ToUnixMillis(pod.info.started_at), 1'700'000'000'000);
  EXPECT_EQ(pod.info.trouble, "");
}

TEST(Pod, IsStoppingWhileItIsDeletedAndEndedWhenItFailed) {
  Json leaving = Pending({{"phase", "Running"}});
  leaving["metadata"]["deletionTimestamp"] = "2023-11-14T22:13:21Z";
  EXPECT_EQ(PodFrom(leaving)->info.state, NodeState::kStopping);
  EXPECT_TRUE(PodFrom(Pending({{"phase", "Failed"}, {"reason", "Evicted"}}))->ended);
}

TEST(Pod, ReportsWhyItDoesNotRun) {
  const Json unschedulable = {{"type", "PodScheduled"},
                              {"status", "False"},
                              {"reason", "Unschedulable"},
                              {"message", "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."}};
  EXPECT_EQ(PodFrom(Pending({{"phase", "Pending"}, {"conditions", Json::array({unschedulable})}}))->info.trouble,
            "Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.");
  EXPECT_EQ(PodFrom(WithContainer({{"state", {{"waiting", {{"reason", "ImagePullBackOff"}, {"message", "no such"}}}}}}))
                ->info.trouble,
            "ImagePullBackOff: no such");
  EXPECT_EQ(PodFrom(WithContainer({{"state", {{"waiting", {{"reason", "ContainerCreating"}}}}}}))->info.trouble, "");
}

TEST(Pod, ReportsItsCrashesAndItsLastExit) {
  const Json killed = {{"state", {{"waiting", {{"reason", "CrashLoopBackOff"}, {"message", "back-off 10s"}}}}},
                       {"restartCount", 3},
                       {"lastState", {{"terminated", {{"exitCode", 137}, {"reason", "OOMKilled"}}}}}};
  const Pod pod = PodFrom(WithContainer(killed)).value();
  EXPECT_EQ(pod.info.crashes, 3);
  EXPECT_EQ(pod.info.last_exit, "exited with code 137 (OOMKilled)");
  EXPECT_EQ(pod.info.state, NodeState::kBackingOff);
}

TEST(Pod, UnexpectedFieldsAreIgnored) {
  EXPECT_FALSE(PodFrom(Json::object()));
  EXPECT_FALSE(PodFrom({{"metadata", {{"name", "a"}}}}));
  EXPECT_TRUE(PodFrom(Pending("text")));
  EXPECT_TRUE(PodFrom(Pending({{"phase", "Dreaming"}, {"conditions", 7}, {"containerStatuses", {{"name", 1}}}})));
}

}  // namespace
}  // namespace longshore::fleet::pods
