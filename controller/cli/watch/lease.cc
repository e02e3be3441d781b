#include "controller/cli/watch/lease.h"

#include <fmt/ranges.h>

#include <set>
#include <sstream>
#include <thread>

namespace longshore::cli::watch {
namespace {

constexpr std::chrono::milliseconds kInterval{500};

// The Leases of all controllers of the cluster.
Result<std::vector<leader::LeaseSeen>> ReadLeases(kube::Api& api) {
  ASSIGN_OR_RETURN(const std::string answer,
                   api.Send({.target = fmt::format("/apis/coordination.k8s.io/v1/leases?fieldSelector="
                                                   "metadata.name%3D{}",
                                                   leader::kLeaseName)}));
  ASSIGN_OR_RETURN(const Json list, ParseJson(answer));
  std::vector<leader::LeaseSeen> leases;
  for (const Json& item : list.value("items", Json::array())) {
    ASSIGN_OR_RETURN(leases.emplace_back(), leader::LeaseSeenFrom(item));
  }
  return leases;
}

// The namespaces that the holder watches; empty if it watches all, or if it is of a release that does not name them.
std::set<std::string> NamespacesOf(const leader::LeaseSeen& lease) {
  std::set<std::string> names;
  if (lease.namespaces == leader::NamespacesText({})) return names;
  std::istringstream list(lease.namespaces);
  for (std::string name; std::getline(list, name, ',');) names.insert(name);
  return names;
}

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
  if (!seen)
    return NotFound("no controller is installed in namespace {}: it has no Lease {}", name.substr(0, name.find('/')),
                    name.substr(name.find('/') + 1));
  std::string pod = leader::HostOfHolder(seen->holder);
  if (pod.empty()) return FailedPrecondition("no controller is running: none holds the Lease {}", name);
  return pod;
}

std::optional<Unwatched> FindUnwatched(kube::Api& api, const std::string& namespace_, TimePoint now) {
  const auto leases = ReadLeases(api);
  if (!leases) return std::nullopt;
  std::set<std::string> watched;
  for (const leader::LeaseSeen& lease : *leases) {
    if (lease.holder.empty()) continue;  // The annotation is that of a controller that has ended.
    std::set<std::string> names = NamespacesOf(lease);
    if (names.empty() || names.contains(namespace_)) return std::nullopt;
    // The holder of an expired Lease has crashed, unless two clocks differ.
    if (now - lease.renewed_at < lease.duration) watched.merge(names);
  }
  if (watched.empty()) return std::nullopt;
  return Unwatched{"no controller watches namespace " + namespace_,
                   fmt::format("use -n with one that is watched ({}), or add {} to watchNamespaces of the chart",
                               fmt::join(watched, ", "), namespace_)};
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
