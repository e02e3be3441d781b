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

}  // namespace
}  // namespace longshore::fleet::pods
