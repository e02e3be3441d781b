// Fleets as Deployments of a cluster, whose pods are the nodes.
//
// Lists and watches Deployments, pods and the other objects of fleets. Objects are written only if they differ from
// what they should be, for example after another client changed them. The ServingFleet owns its objects, so Kubernetes
// deletes them with it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "controller/fleet/fleet.h"
#include "controller/fleet/pods/manifests.h"
#include "controller/fleet/pods/node_tokens.h"
#include "controller/kube/api.h"

namespace longshore::fleet::pods {

struct PodFleetOptions {
  PodSettings settings{};
  std::vector<std::string> namespaces{};  // Namespaces to list and watch; empty: all.
  kube::ApiOptions api{};
  std::chrono::milliseconds first_list_max{30'000};
};

class PodFleet : public Fleet {
 public:
  // Sets the certificates (PEM) of the CAs that nodes trust. Ensure writes them into the cluster.
  virtual void UseAuthority(const std::string& certificate) = 0;

  // Returns the node that runs in the pod; used as the callback NodeTokens::NodeOf.
  virtual std::optional<NodeTokens::Node> NodeOf(const PodName& pod) const = 0;
};

// Returns when all objects have been listed, or Unavailable with the kind that could not be listed. The right to list
// EndpointSlices may be missing: then Progress::unchecked says so.
Result<std::unique_ptr<PodFleet>> StartPodFleet(const kube::Cluster& cluster, const PodFleetOptions& options,
                                                const MonotonicClock& clock, OnChange on_change);

}  // namespace longshore::fleet::pods
