// Connects tests to the real API server that tests/cluster/control_plane.py started.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "controller/kube/api.h"
#include "controller/kube/cluster.h"

namespace longshore::kube {

inline Cluster ClusterForTests() {
  const char* files = std::getenv("LONGSHORE_KUBECONFIGS");  // Not KUBECONFIG, which may name a user's cluster.
  CHECK(files != nullptr);
  const std::string first(files);
  return FromKubeconfig(first.substr(0, first.find(':')), "").value();
}

inline std::unique_ptr<Api> ConnectForTests(const MonotonicClock& clock) {
  return Api::Make(ClusterForTests(), {}, clock).value();
}

}  // namespace longshore::kube
