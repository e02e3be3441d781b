// The place of the objects that a command works on: the directory of a controller on this host, or a cluster.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "controller/api/parse.h"
#include "controller/cli/options.h"
#include "controller/kube/cluster.h"
#include "controller/store/store.h"

namespace longshore::cli {

struct Place {
  std::unique_ptr<store::Store> store;
  api::Home home = api::Home::kHost;
  std::string namespace_ = "default";      // The default namespace of commands.
  Path manifests{};                        // The directory of manifests; "" for a cluster.
  std::optional<kube::Cluster> cluster{};  // nullopt for a directory.
};

// Returns NotFound if the directory, file or context does not exist, and FailedPrecondition if neither a directory nor
// a cluster is configured.
Result<Place> OpenPlace(const Options& options, const MonotonicClock& clock);

// Opens the store of all namespaces of a cluster; Place::store has only those that the options name.
Result<std::unique_ptr<store::Store>> StoreOfAllNamespaces(const kube::Cluster& cluster, const MonotonicClock& clock);

// The arguments by which another command finds this place, for lines that a user can copy: " --manifests /m"; "" if the
// environment and the defaults suffice.
std::string ArgumentsFor(const Options& options, const Place& place);

// Returns the cluster that the options or the environment name; finds it in the same way as kubectl does.
Result<kube::Cluster> ClusterOf(const Options& options);

}  // namespace longshore::cli
