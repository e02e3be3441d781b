// Reads the node that runs in a pod from the pod's JSON. Pure.
#pragma once

#include <string>

#include "common/base/error.h"
#include "common/json/json.h"
#include "controller/fleet/fleet.h"

namespace longshore::fleet::pods {

struct Pod {
  std::string fleet;      // "namespace/name".
  std::string fleet_uid;  // The uid of its ServingFleet; "" if an older controller created the pod.
  NodeInfo info;
  std::string uid;
  bool ended = false;         // Whether it was evicted or failed permanently, so that its Deployment replaces it.
  std::string deletion_cost;  // The value of kDeletionCostAnnotation.
};

// Returns DataLoss if the pod does not belong to a fleet.
Result<Pod> PodFrom(const Json& json);

inline constexpr const char* kDeletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost";

}  // namespace longshore::fleet::pods
