// The parts of the time that a pod has for its end.
#pragma once

#include <chrono>

#include "controller/api/pods.h"

namespace longshore::api {

// The parts of a pod's termination grace period, which is rounded up to whole seconds.
struct Termination {
  // The pod's node serves this time before it is asked to drain: a Service sends requests to a pod for a moment after
  // its deletion began. At most half of the grace period.
  std::chrono::seconds before_drain;
  // Then the node may drain for this time. The rest, at most 2 s, is for its end: Kubernetes kills what is left.
  std::chrono::milliseconds drain_max;
};
Termination TerminationOf(const Pods& pods);

}  // namespace longshore::api
