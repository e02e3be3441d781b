// Where the objects are that a command is about: the directory of a controller on this host, or a cluster.
#pragma once

#include <memory>
#include <string>

#include "common/clock.h"
#include "controller/api/parse.h"
#include "controller/cli/options.h"
#include "controller/kube/cluster.h"
#include "controller/store/store.h"

namespace longshore::cli {

struct Place {
  std::unique_ptr<store::Store> store;
  api::Home home = api::Home::kHost;
  std::string namespace_ = "default";  // Where nothing else is said.
  Path manifests{};                    // The directory of manifests; "" for a cluster.
};

// NotFound when there is no such directory, file or context; FailedPrecondition when nothing says where to look.
Result<Place> OpenPlace(const Options& options, const MonotonicClock& clock);

// The cluster that the options or the environment name, as kubectl would find it.
Result<kube::Cluster> ClusterOf(const Options& options);

}  // namespace longshore::cli
