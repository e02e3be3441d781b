// A pod of the API, as the node that it is. Pure.
#pragma once

#include <string>

#include "common/error.h"
#include "common/json/json.h"
#include "controller/fleet/fleet.h"

namespace longshore::fleet {

struct Pod {
  std::string fleet;      // "namespace/name".
  std::string fleet_uid;  // Of the ServingFleet that it was made for; "" when an older controller made it.
  NodeInfo info;
  std::string uid;
  bool ended = false;         // It will run no more: evicted, or failed for good. Its Deployment makes another.
  std::string deletion_cost;  // Its annotation.
};

// DataLoss when it is none of a fleet's.
Result<Pod> PodFrom(const Json& json);

inline constexpr const char* kDeletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost";

}  // namespace longshore::fleet
