#include "controller/fleet/pods/manifests.h"

#include <gtest/gtest.h>

#include "common/base/sha256.h"

namespace longshore::fleet::pods {
namespace {

Json ContainerWithGrace(std::chrono::milliseconds grace) {
  api::ServingFleet fleet;
  fleet.spec.pods.termination_grace_period = grace;
  return DeploymentOf(fleet, {}).at("/spec/template/spec/containers/0"_json_pointer);
}

std::string DrainMax(const Json& container) {
  for (const Json& variable : container.at("env"))
    if (variable.at("name") == "LONGSHORE_DRAIN_MAX_MS") return variable.at("value");
  return "";
}

TEST(Manifests, ANodeMayDrainUntilShortlyBeforeItsPodIsKilled) {
  using std::chrono::seconds;
  EXPECT_EQ(DrainMax(ContainerWithGrace(seconds(60))), "55000") << "less 3 s before the drain and 2 s after it";
  EXPECT_EQ(DrainMax(ContainerWithGrace(seconds(600))), "595000");
  const Json shorter = ContainerWithGrace(seconds(8));
  EXPECT_EQ(shorter.at("/lifecycle/preStop/sleep/seconds"_json_pointer), 3);
  EXPECT_EQ(DrainMax(shorter), "3750");
  const Json shortest = ContainerWithGrace(seconds(1));
  EXPECT_FALSE(shortest.contains("lifecycle"));
  EXPECT_EQ(DrainMax(shortest), "750");
}

// A new version of the controller must not restart the nodes of existing fleets (docs/install-cluster.md, Upgrade).
TEST(Manifests, AnotherPodTemplateHasAnotherForm) {
  api::ServingFleet fleet;
  fleet.metadata.name = "cpu";
  fleet.metadata.namespace_ = "vision";
  fleet.metadata.uid = "a-uid";
  fleet.spec.pods.limits = {{"cpu", "2"}};
  fleet.spec.pods.model_volumes = {
      {.name = "models", .mount_path = "/models", .claim_name = "models", .secret_name = {}}};
  const PodSettings settings{
      .image = "longshore/node:1", .controller = "dns:///nodes:8610", .lease = "longshore/lease", .ca = "CA\n"};
  const std::string digest = ToHex(Sha256(DeploymentOf(fleet, settings).at("spec").dump()));
  EXPECT_EQ(std::string(kForm) + " " + digest.substr(0, 16), "3 2d10cee2304cf944")
      << "the pod template has changed: increment kForm if the last release has the same one, and write the new digest "
         "here";
}

TEST(Manifests, NamesAreReservedOnlyWhereTheirObjectsWouldReplaceThoseOfTheController) {
  const PodSettings settings{.image = "longshore/node:1",
                             .controller = "dns:///longshore-nodes.longshore.svc:8610",
                             .lease = "longshore/longshore-controller",
                             .ca = "CA\n"};
  const auto check = [&](const char* namespace_, const char* name) {
    api::Metadata fleet;
    fleet.name = name;
    fleet.namespace_ = namespace_;
    return CheckName(fleet, settings);
  };
  for (const char* name : {"nodes", "console", "controller", "controller-metrics"}) {
    const Status reserved = check("longshore", name);
    ASSERT_FALSE(reserved) << name;
    EXPECT_EQ(reserved.error().code, Code::kAlreadyExists);
    EXPECT_TRUE(check("vision", name)) << name;
  }
  EXPECT_EQ(check("longshore", "nodes").error().message,
            "the name \"nodes\" is reserved in namespace longshore: the fleet's objects would replace the Service "
            "longshore-nodes of the controller; delete this fleet, and create it with another name or in another "
            "namespace");
  for (const char* name : {"cpu", "node", "nodes-2", "controllers"}) EXPECT_TRUE(check("longshore", name)) << name;
}

}  // namespace
}  // namespace longshore::fleet::pods
