#include "controller/cli/watch/lease.h"

#include <thread>

namespace longshore::cli::watch {
namespace {

constexpr std::chrono::milliseconds kInterval{500};

}  // namespace

std::string LeaseOf(const std::vector<api::ServingFleet>& fleets) {
  for (const api::ServingFleet& fleet : fleets) {
    if (!fleet.status.controller_lease.empty()) return fleet.status.controller_lease;
  }
  return "";
}

Result<std::optional<leader::LeaseSeen>> ReadLease(kube::Api& api, const std::string& name) {
  const size_t slash = name.find('/');
  const auto answer = api.Send({.target = fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}",
                                                      name.substr(0, slash), name.substr(slash + 1))});
  if (!answer && answer.error().code == Code::kNotFound) return std::nullopt;
  if (!answer) return tl::make_unexpected(answer.error());
  ASSIGN_OR_RETURN(const Json json, ParseJson(*answer));
  return leader::LeaseSeenFrom(json).map([](const leader::LeaseSeen& seen) { return std::optional(seen); });
}

Result<std::string> PodThatLeads(const kube::Cluster& cluster, const std::string& name) {
  const SteadyClock timer;
  ASSIGN_OR_RETURN(const auto api, kube::Api::Make(cluster, {}, timer));
  ASSIGN_OR_RETURN(const auto seen, ReadLease(*api, name));
  std::string pod = seen ? leader::HostOfHolder(seen->holder) : "";
  if (pod.empty()) return FailedPrecondition("no controller holds the Lease {}", name);
  return pod;
}

Result<LeaseWatched> WatchLease(kube::Api& api, const std::string& name, leader::Presence& presence,
                                const Clock& clock) {
  for (;; std::this_thread::sleep_for(kInterval)) {
    ASSIGN_OR_RETURN(const auto lease, ReadLease(api, name));
    const leader::Life life = presence.Saw(lease, clock.Now());
    if (life != leader::Life::kNotKnownYet) return LeaseWatched{lease, life == leader::Life::kRunning};
  }
}

}  // namespace longshore::cli::watch
