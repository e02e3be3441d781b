// Fleets as Deployments of a cluster: their pods are the nodes.
//
// Deployments, pods and what goes with them are listed and watched. What is as it should be is not written again; what
// somebody changed is put right. A fleet's objects belong to its ServingFleet, with which Kubernetes deletes them.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/fleet/fleet.h"
#include "controller/fleet/pods/manifests.h"
#include "controller/fleet/pods/node_tokens.h"
#include "controller/kube/api.h"

namespace longshore::fleet {

struct PodFleetOptions {
  PodSettings settings{};
  std::vector<std::string> namespaces{};  // Listed and watched; empty: all.
  kube::ApiOptions api{};
  std::chrono::milliseconds first_list_max{30'000};
};

class PodFleet : public Fleet {
 public:
  // From now on nodes trust what it signs: its certificate as PEM. Ensure writes it.
  virtual void UseAuthority(const std::string& certificate) = 0;

  // As NodeTokens asks it.
  virtual std::optional<NodeTokens::Node> NodeOf(const PodName& pod) const = 0;
};

// Returns when all is listed. Unavailable naming what could not be.
Result<std::unique_ptr<PodFleet>> StartPodFleet(const kube::Cluster& cluster, const PodFleetOptions& options,
                                                const MonotonicClock& clock, OnChange on_change);

}  // namespace longshore::fleet
