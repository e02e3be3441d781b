#include "controller/cli/controller_seen.h"

#include <set>
#include <thread>

#include "controller/api/format.h"
#include "controller/cli/host_view.h"
#include "controller/cli/text/text.h"
#include "controller/leader/presence.h"
#include "controller/store/document.h"

namespace longshore::cli {
namespace {

constexpr std::chrono::milliseconds kLeaseInterval{500};
constexpr size_t kFleetsReadMax = 3;

// Returns namespace/name of the Lease, or "" if no controller has reconciled any of the objects or their fleets.
std::string LeaseOf(store::Store& store, const std::vector<store::Object>& shown) {
  std::set<api::Key> fleets;
  for (const store::Object& object : shown) {
    if (object.kind == api::kServingFleetKind) {
      const auto fleet = store::ToFleet(object);
      if (fleet && !fleet->status.controller_lease.empty()) return fleet->status.controller_lease;
    } else if (const auto model = store::ToModel(object)) {
      fleets.insert(api::FleetKey(api::FleetOf(model->metadata, model->spec)));
    }
    if (fleets.size() == kFleetsReadMax) break;
  }
  for (const api::Key& key : fleets) {
    const auto object = store.Get(key);
    const auto fleet = object ? store::ToFleet(*object) : tl::make_unexpected(object.error());
    if (fleet && !fleet->status.controller_lease.empty()) return fleet->status.controller_lease;
  }
  return {};
}

// Returns nullopt if the Lease does not exist.
Result<std::optional<leader::LeaseSeen>> ReadLease(kube::Api& api, const std::string& lease) {
  const size_t slash = lease.find('/');
  const auto answer = api.Send({.target = fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}",
                                                      lease.substr(0, slash), lease.substr(slash + 1))});
  if (!answer && answer.error().code == Code::kNotFound) return std::nullopt;
  if (!answer) return tl::make_unexpected(answer.error());
  ASSIGN_OR_RETURN(const Json json, ParseJson(*answer));
  return leader::LeaseSeenFrom(json).map([](const leader::LeaseSeen& seen) { return std::optional(seen); });
}

std::string AbsentNote(const std::string& name, const std::optional<leader::LeaseSeen>& lease, TimePoint now) {
  if (!lease) return fmt::format("no controller is running: its Lease {} does not exist\n", name);
  if (lease->renewed_at == TimePoint{})
    return fmt::format("no controller is running: none has held its Lease {}\n", name);
  return fmt::format("no controller is running: its Lease {} was last renewed {} ago; this is the state as of then\n",
                     name, text::Age(lease->renewed_at, now));
}

Result<ControllerSeen> SeeLease(kube::Api& api, const std::string& name, const Clock& clock) {
  for (leader::Presence presence;; std::this_thread::sleep_for(kLeaseInterval)) {
    const auto lease = ReadLease(api, name);
    if (!lease && lease.error().code == Code::kPermissionDenied) {
      return ControllerSeen{.note = fmt::format("it is not known whether a controller is running, because you may not "
                                                "read its Lease {}\n",
                                                name)};
    }
    if (!lease) return tl::make_unexpected(lease.error());
    switch (presence.Saw(*lease, clock.Now())) {
      case leader::Life::kRunning: return ControllerSeen{};
      case leader::Life::kAbsent: return ControllerSeen{true, AbsentNote(name, *lease, clock.Now())};
      case leader::Life::kNotKnownYet: break;
    }
  }
}

}  // namespace

Result<ControllerSeen> SeeController(const Place& place, const std::vector<store::Object>& shown, const Clock& clock) {
  if (!place.cluster && place.manifests.empty()) return ControllerSeen{};  // A test's store.
  if (!place.cluster) {
    ASSIGN_OR_RETURN(const store::local::ControllerLockState controller,
                     store::local::ReadControllerLock(place.manifests));
    return ControllerSeen{!controller.is_running, ControllerNote(controller, clock.Now())};
  }
  const std::string lease = LeaseOf(*place.store, shown);
  if (lease.empty()) return ControllerSeen{};
  const SteadyClock timer;
  ASSIGN_OR_RETURN(const auto api, kube::Api::Make(*place.cluster, {}, timer));
  return SeeLease(*api, lease, clock);
}

}  // namespace longshore::cli
