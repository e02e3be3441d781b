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

constexpr const char* kStopFleets = "longshore-controller --stop-fleets";
// How often a status is written if others change the object meanwhile.
constexpr int kTriesMax = 10;

enum class Moment { kBefore, kAfter };  // The nodes are about to end, or have ended.

struct Reason {
  const char* of_fleets;
  const char* of_models;
  std::string message;
};

Reason ReasonAt(Moment moment, const std::string& by) {
  if (moment == Moment::kBefore) return {"Stopping", "FleetStopping", by + " is ending the nodes"};
  return {"Stopped", "FleetStopped", by + " has ended the nodes; they start with the controller"};
}

template <typename ObjectStatus>
void SetNotReady(ObjectStatus& status, const char* reason, const std::string& message, TimePoint now) {
  api::SetCondition(status.conditions, {"Ready", "False", reason, message, status.observed_generation, now});
}

// Nodes that are still ending remain in the status.
Result<Json> StatusAt(Moment moment, const store::Object& object, const std::string& by, TimePoint now) {
  const Reason reason = ReasonAt(moment, by);
  if (object.kind == api::kModelKind) {
    ASSIGN_OR_RETURN(api::Model model, store::ToModel(object));
    SetNotReady(model.status, reason.of_models, reason.message, now);
    if (moment == Moment::kAfter) model.status.nodes.clear();
    return api::ToJson(model.status);
  }
  ASSIGN_OR_RETURN(api::ServingFleet fleet, store::ToFleet(object));
  SetNotReady(fleet.status, reason.of_fleets, reason.message, now);
  if (moment == Moment::kAfter) {
    fleet.status.nodes.clear();
    fleet.status.replicas = fleet.status.ready_replicas = 0;
  }
  return api::ToJson(fleet.status);
}

// Reads the object again if somebody else has changed it meanwhile. An object that was deleted needs no status.
Status WriteAt(Moment moment, store::Store& store, store::Object object, const std::string& by, TimePoint now) {
  const api::Key key = store::KeyOf(object);
  for (int tries = 1;; ++tries) {
    ASSIGN_OR_RETURN(const Json status, StatusAt(moment, object, by, now));
    const auto written = store.PutStatus(key, object.metadata.uid, object.metadata.resource_version, status);
    if (written || written.error().code == Code::kNotFound) return {};
    if (written.error().code != Code::kAborted || tries == kTriesMax) return tl::make_unexpected(written.error());
    auto changed = store.Get(key);
    if (!changed && changed.error().code == Code::kNotFound) return {};
    if (!changed) return tl::make_unexpected(changed.error());
    object = std::move(*changed);
  }
}

// Tries all objects, and returns the first error.
Status WriteAllAt(Moment moment, store::Store& store, const std::string& by, TimePoint now) {
  Status first;
  for (const char* kind : {api::kServingFleetKind, api::kModelKind}) {
    ASSIGN_OR_RETURN(const store::Listing listing, store.List(kind));
    for (const store::Object& object : listing.objects) {
      const Status written = WriteAt(moment, store, object, by, now);
      if (!written && first) {
        first = Prefixed(written.error(), fmt::format("the nodes were ended, but the status of {} still shows them",
                                                      api::ToString(store::KeyOf(object))));
      }
    }
  }
  return first;
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

std::string Count(size_t number, const char* noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

}  // namespace

Result<fleet::processes::StoppedNodes> EndNodes(store::Store& store, const std::string& by, const Clock& clock,
                                                const End& end) {
  // Before the nodes end: if this process is killed meanwhile, no status says that they serve. An error matters only if
  // the second write fails, too.
  (void)WriteAllAt(Moment::kBefore, store, by, clock.Now());
  ASSIGN_OR_RETURN(auto stopped, end());
  RETURN_IF_ERROR(WriteAllAt(Moment::kAfter, store, by, clock.Now()));
  return stopped;
}

Result<std::string> StopFleets(const Path& state_dir, const Path& manifests, const Clock& clock) {
  RETURN_IF_ERROR(CheckStateDir(state_dir));
  ASSIGN_OR_RETURN(const process::Descriptor lock, LockStateDir(state_dir));
  ASSIGN_OR_RETURN(const Path found, ManifestsOf(state_dir, manifests));
  const End end = [&] { return fleet::processes::StopAllNodes(state_dir, kDrainMax); };
  const auto end_nodes = [&]() -> Result<fleet::processes::StoppedNodes> {
    if (found.empty()) return end();
    ASSIGN_OR_RETURN(const auto store, store::local::LocalStore::Open({.dir = found}));
    return EndNodes(*store, kStopFleets, clock, end);
  };
  ASSIGN_OR_RETURN(const auto stopped, end_nodes());
  const std::string done = stopped.nodes == 0 ? "no node was running"
                                              : fmt::format("ended {} of {}", Count(stopped.nodes, "node"),
                                                            Count(stopped.fleets.size(), "fleet"));
  if (!found.empty()) return done;
  return done + "; the statuses of the objects are unchanged, because their directory is not known: add --manifests";
}

}  // namespace longshore::app
