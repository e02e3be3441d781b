#include "controller/cli/host_view.h"

#include <algorithm>
#include <set>

#include "controller/api/format.h"
#include "controller/cli/host/disagreement.h"
#include "controller/cli/host/manifest_reports.h"
#include "controller/cli/select.h"
#include "controller/cli/text/text.h"
#include "controller/store/document.h"

namespace longshore::cli {
namespace {

// The age of the last reconciliation above which the user is told that the running controller does not reconcile. A
// controller reconciles its objects at least every second; one pass may take some seconds if the disk is slow.
constexpr std::chrono::seconds kReconcileAgeMax{30};

// Whether the selector of the options matches the object as it is in the store, or as the file defines it.
bool IsSelected(const Options& options, const api::Key& key, const store::local::ManifestFile& file,
                store::Store& store) {
  const auto stored = store.Get(key);
  if (stored && input::Matches(options.selector, stored->metadata.labels)) return true;
  const auto defined = store::local::ObjectsOf(file).value_or(std::vector<store::Object>());
  return std::ranges::any_of(defined, [&](const store::Object& object) {
    return store::KeyOf(object) == key && input::Matches(options.selector, object.metadata.labels);
  });
}

// Whether no controller has read the content of the file yet, and it defines the fleet of the model that the options
// name.
bool MayChangeTheFleet(const Options& options, const store::local::ManifestFile& file, const std::set<api::Key>& keys,
                       store::Store& store) {
  if (file.is_taken || !file.mistake.empty()) return false;
  const auto object = store.Get({api::kModelKind, options.namespace_, options.name});
  if (!object) return false;
  const auto model = store::ToModel(*object);
  return model && keys.contains(api::FleetKey(api::FleetOf(model->metadata, model->spec)));
}

// The objects of a manifest file that was never valid are unknown, so the file concerns all namespaces. Their labels
// are unknown too, so it concerns no selector.
bool Concerns(const Options& options, const store::local::ManifestFile& file, store::Store& store) {
  const std::set<api::Key> keys = host::KeysOf(file);
  if (!options.name.empty()) {
    return keys.contains({api::kModelKind, options.namespace_, options.name}) ||
           MayChangeTheFleet(options, file, keys, store);
  }
  if (!options.targets.empty()) {
    return std::ranges::any_of(options.targets, [&](const input::Target& target) {
      return keys.contains({target.kind, options.namespace_, target.name});
    });
  }
  const auto is_in_namespace = [&](const api::Key& key) {
    return options.all_namespaces || key.namespace_ == options.namespace_;
  };
  if (!options.selector.empty()) {
    return std::ranges::any_of(
        keys, [&](const api::Key& key) { return is_in_namespace(key) && IsSelected(options, key, file, store); });
  }
  if (options.all_namespaces || keys.empty()) return true;
  return std::ranges::any_of(keys, is_in_namespace);
}

std::string TimeText(TimePoint at, TimePoint now) {
  const std::string day_and_time = api::FormatTime(at);  // "2026-11-21T05:23:49.120Z"
  const std::string time = day_and_time.substr(11, 8) + " UTC";
  const std::string day = day_and_time.substr(0, 10);
  return day == api::FormatTime(now).substr(0, 10) ? time : day + " " + time;
}

}  // namespace

Result<std::optional<HostView>> ReadHostView(const Options& options, const Place& place) {
  if (place.manifests.empty()) return std::nullopt;
  HostView view;
  ASSIGN_OR_RETURN(view.controller, store::local::ReadControllerLock(place.manifests));
  view.seen = host::SeenOf(store::local::ReadManifestFiles(place.manifests), place.manifests,
                           [&](const auto& file) { return Concerns(options, file, *place.store); });
  if (view.controller.is_running) view.seen.epoch = view.controller.epoch;
  return view;
}

std::string DisagreementsText(const Options& options, const Place& place, const store::Listing& listing) {
  const std::vector<std::string> kinds = KindsOf(options.targets);
  const bool has_names =
      std::ranges::any_of(options.targets, [](const input::Target& target) { return !target.name.empty(); });
  const bool shows_all = options.selector.empty() && !has_names;
  host::Objects objects;
  for (const api::Key& key : host::KeysOfManifests(place.manifests)) {
    const bool is_in_namespace = options.all_namespaces || key.namespace_ == options.namespace_;
    const bool is_of_kinds = std::ranges::find(kinds, key.kind) != kinds.end();
    if (shows_all && is_of_kinds && is_in_namespace) objects[key] = std::nullopt;
  }
  for (const store::Unreadable& one : listing.unreadable) objects.erase(one.key);
  for (const store::Object& one : listing.objects) objects[store::KeyOf(one)] = one;
  return host::DisagreementsText(place.manifests, objects);
}

std::string ControllerNote(const store::local::ControllerLockState& controller, TimePoint now) {
  const TimePoint at = controller.last_active_at;
  if (at == TimePoint{})
    return controller.is_running ? "" : "no controller is running; none has reconciled these objects yet\n";
  if (!controller.is_running) {
    return fmt::format("no controller is running; this is the state as of {} ({} ago)\n", TimeText(at, now),
                       text::Age(at, now));
  }
  if (!controller.problem.empty())
    return fmt::format("the controller {}; this is the state that it could write last\n", controller.problem);
  if (now - at < kReconcileAgeMax) return "";
  return fmt::format("a controller is running, but it has not reconciled any object since {} ({} ago)\n",
                     TimeText(at, now), text::Age(at, now));
}

}  // namespace longshore::cli
