#include "controller/fleet/pods/manifests.h"

#include <gtest/gtest.h>

#include "common/base/sha256.h"

namespace longshore::fleet::pods {
namespace {

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
  EXPECT_EQ(std::string(kForm) + " " + digest.substr(0, 16), "3 b5c603140aa02fdf")
      << "the pod template has changed: increment kForm, and write the new digest here";
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
