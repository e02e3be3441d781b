#include "controller/cli/controller_seen.h"

#include <set>

#include "controller/cli/host_view.h"
#include "controller/cli/text/text.h"
#include "controller/cli/watch/lease.h"
#include "controller/store/document.h"

namespace longshore::cli {
namespace {

constexpr std::chrono::seconds kRenewalInterval{2};  // leader::Options::retry_period.
// A controller that ended longer ago is not restarting.
constexpr std::chrono::minutes kRestartMax{1};
constexpr size_t kFleetsReadMax = 3;

ControllerSeen NotKnown(const std::string& why) {
  return {.note = "it is not known whether a controller is running: " + why + "\n"};
}

// Returns namespace/name of the Lease; "" if no controller has reconciled any of the objects or their fleets; an error
// if no fleet can be read.
Result<std::string> LeaseOf(store::Store& store, const std::vector<store::Object>& shown) {
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
  std::optional<Error> unread;
  for (const api::Key& key : fleets) {
    const auto object = store.Get(key);
    const auto fleet = object ? store::ToFleet(*object) : tl::make_unexpected(object.error());
    if (fleet && !fleet->status.controller_lease.empty()) return fleet->status.controller_lease;
    if (!fleet && fleet.error().code != Code::kNotFound) unread = fleet.error();
  }
  if (unread) return tl::make_unexpected(*unread);
  return std::string();
}

ControllerSeen Absent(const std::string& name, const std::optional<leader::LeaseSeen>& lease, TimePoint now) {
  if (!lease) {
    return {true, fmt::format("no controller is running: its Lease {} does not exist\n", name), Start::kUnlikely};
  }
  if (lease->renewed_at == TimePoint{})
    return {true, fmt::format("no controller is running: none has held its Lease {}\n", name), Start::kExpected};
  return {true,
          fmt::format("no controller is running: its Lease {} was last renewed {} ago; this is the state as of then\n",
                      name, text::Age(lease->renewed_at, now)),
          now - lease->renewed_at < kRestartMax ? Start::kPossible : Start::kUnlikely};
}

ControllerSeen SeeHost(const Place& place, const Clock& clock) {
  const auto controller = store::local::ReadControllerLock(place.manifests);
  if (!controller) return NotKnown(controller.error().message);
  return {!controller->is_running, ControllerNote(*controller, clock.Now())};
}

}  // namespace

ControllerSeen ControllerSight::SeeLease() {
  if (api_ == nullptr) {
    auto api = kube::Api::Make(*place_.cluster, {}, timer_);
    if (!api) return NotKnown(fmt::format("its Lease {} cannot be read: {}", lease_, api.error().message));
    api_ = std::move(*api);
  }
  const auto watched = watch::WatchLease(*api_, lease_, presence_, clock_);
  if (!watched && watched.error().code == Code::kPermissionDenied)
    return NotKnown(fmt::format("you may not read its Lease {}", lease_));
  if (!watched) return NotKnown(fmt::format("its Lease {} cannot be read: {}", lease_, watched.error().message));
  if (!watched->is_held) return Absent(lease_, watched->lease, clock_.Now());
  ControllerSeen seen;
  seen.epoch = watched->lease->epoch;
  return seen;
}

ControllerSeen ControllerSight::See(const std::vector<store::Object>& shown) {
  if (!place_.cluster && place_.manifests.empty()) return {};  // A test's store.
  if (!place_.cluster) return SeeHost(place_, clock_);
  if (read_at_ && timer_.Now() - *read_at_ < kRenewalInterval) return seen_;
  const Result<std::string> lease = LeaseOf(*place_.store, shown);
  if (!lease) return NotKnown("no fleet can be read: " + lease.error().message);
  if (lease->empty()) return {};
  if (*lease != lease_) presence_ = {};
  lease_ = *lease;
  seen_ = SeeLease();
  read_at_ = timer_.Now();
  return seen_;
}

}  // namespace longshore::cli
