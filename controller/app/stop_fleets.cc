#include "controller/app/stop_fleets.h"

#include <filesystem>

#include "controller/api/format.h"
#include "controller/app/controller.h"
#include "controller/app/state_dir.h"
#include "controller/fleet/processes/named_nodes.h"
#include "controller/store/document.h"
#include "controller/store/local/controller_lock.h"
#include "controller/store/local/local_store.h"

namespace longshore::app {
namespace {

constexpr const char* kWhy = "longshore-controller --stop-fleets has ended the nodes; they start with the controller";

template <typename ObjectStatus>
void SetStopped(ObjectStatus& status, const char* reason, const std::string& why, TimePoint now) {
  status.nodes.clear();
  api::SetCondition(status.conditions, {"Ready", "False", reason, why, status.observed_generation, now});
}

Result<Json> StoppedStatus(const store::Object& object, const std::string& why, TimePoint now) {
  if (object.kind == api::kModelKind) {
    ASSIGN_OR_RETURN(api::Model model, store::ToModel(object));
    SetStopped(model.status, "FleetStopped", why, now);
    return api::ToJson(model.status);
  }
  ASSIGN_OR_RETURN(api::ServingFleet fleet, store::ToFleet(object));
  SetStopped(fleet.status, "Stopped", why, now);
  fleet.status.replicas = fleet.status.ready_replicas = 0;
  return api::ToJson(fleet.status);
}

Status WriteStoppedObject(store::Store& store, const store::Object& object, const std::string& why, TimePoint now) {
  const auto status = StoppedStatus(object, why, now);
  const api::Key key = store::KeyOf(object);
  const auto written = status ? store.PutStatus(key, object.metadata.uid, object.metadata.resource_version, *status)
                              : Result<store::Object>(tl::make_unexpected(status.error()));
  if (written) return {};
  return Prefixed(written.error(),
                  fmt::format("the nodes were ended, but the status of {} still shows them", api::ToString(key)));
}

// Whether the newest controller of these manifests used the state directory.
bool BelongTogether(const Path& manifests, const Path& state_dir) {
  const auto lock = store::local::ReadControllerLock(manifests);
  std::error_code error;
  return lock && std::filesystem::equivalent(lock->state_dir, state_dir, error);
}

// Returns the directory of manifests whose objects the nodes serve; "" if it is not known.
Result<Path> ManifestsOf(const Path& state_dir, const Path& given) {
  std::error_code error;
  if (given.empty()) {
    const Path recorded = RecordedManifests(state_dir);
    return !recorded.empty() && BelongTogether(recorded, state_dir) ? recorded : Path();
  }
  if (!std::filesystem::is_directory(given, error)) return NotFound("--manifests: {} does not exist", given.string());
  if (BelongTogether(given, state_dir)) return given;
  return FailedPrecondition("--manifests: the controller of {} does not use the state directory {}", given.string(),
                            state_dir.string());
}

Status WriteStoppedIn(const Path& manifests, TimePoint now) {
  ASSIGN_OR_RETURN(const auto store, store::local::LocalStore::Open({.dir = manifests}));
  return WriteStopped(*store, kWhy, now);
}

std::string Count(size_t number, const char* noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

}  // namespace

Status WriteStopped(store::Store& store, const std::string& why, TimePoint now) {
  Status first;
  for (const char* kind : {api::kServingFleetKind, api::kModelKind}) {
    ASSIGN_OR_RETURN(const store::Listing listing, store.List(kind));
    for (const store::Object& object : listing.objects) {
      const Status written = WriteStoppedObject(store, object, why, now);
      if (!written && first) first = written;
    }
  }
  return first;
}

Result<std::string> StopFleets(const Path& state_dir, const Path& manifests, const Clock& clock) {
  RETURN_IF_ERROR(CheckStateDir(state_dir));
  ASSIGN_OR_RETURN(const process::Descriptor lock, LockStateDir(state_dir));
  ASSIGN_OR_RETURN(const Path found, ManifestsOf(state_dir, manifests));
  // Before the nodes end: if this process is killed meanwhile, no status says that they serve.
  const Status written = found.empty() ? Status() : WriteStoppedIn(found, clock.Now());
  ASSIGN_OR_RETURN(const auto stopped, fleet::processes::StopAllNodes(state_dir, kDrainMax));
  RETURN_IF_ERROR(written);
  const std::string done = stopped.nodes == 0 ? "no node was running"
                                              : fmt::format("ended {} of {}", Count(stopped.nodes, "node"),
                                                            Count(stopped.fleets.size(), "fleet"));
  if (!found.empty()) return done;
  return done + "; the statuses of the objects are unchanged, because their directory is not known: add --manifests";
}

}  // namespace longshore::app
