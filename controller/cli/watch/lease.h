// Whether the holder of a Lease in a cluster renews it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "controller/api/types.h"
#include "controller/kube/api.h"
#include "controller/leader/presence.h"

namespace longshore::cli::watch {

// Returns namespace/name of the Lease that the first fleet with one names; "" if none does.
std::string LeaseOf(const std::vector<api::ServingFleet>& fleets);

// `name`: "namespace/name". Returns nullopt if the Lease does not exist.
Result<std::optional<leader::LeaseSeen>> ReadLease(kube::Api& api, const std::string& name);

// Returns the name of the pod whose controller holds the Lease; the pod is in the namespace of the Lease. Returns
// NotFound if the Lease does not exist, and FailedPrecondition if no controller holds it.
Result<std::string> PodThatLeads(const kube::Cluster& cluster, const std::string& name);

// A namespace that no controller of the cluster serves, although there is one.
struct Unwatched {
  std::string why;   // "no controller watches namespace default", and
  std::string cure;  // what a person can do; both without full stop.
};
// Returns nullopt if a controller watches the namespace, if none is running, or if this is not known, for example
// because the user may not list the Leases of all namespaces.
std::optional<Unwatched> FindUnwatched(kube::Api& api, const std::string& namespace_, TimePoint now);

struct LeaseWatched {
  std::optional<leader::LeaseSeen> lease;  // nullopt if it does not exist.
  bool is_held = false;
};

// `presence`: what earlier reads of this Lease have shown; new before the first one. Waits up to
// leader::Presence::kPatience if the Lease seems to have expired since then.
Result<LeaseWatched> WatchLease(kube::Api& api, const std::string& name, leader::Presence& presence,
                                const Clock& clock);

}  // namespace longshore::cli::watch
