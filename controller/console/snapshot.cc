#include "controller/console/snapshot.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "controller/cli/host/manifest_reports.h"
#include "controller/store/document.h"
#include "controller/store/local/manifest_files.h"

namespace longshore::console {
namespace {

// Returns the objects of manifest files, as far as the store can tell what they are.
cli::host::Objects ObjectsOf(const std::vector<store::local::ManifestFile>& files) {
  cli::host::Objects objects;
  for (const store::local::ManifestFile& file : files) {
    if (!file.is_taken) continue;
    for (const api::Key& key : file.objects) objects.emplace(key, std::nullopt);
  }
  return objects;
}

template <typename Parsed>
void Add(const store::Object& object, Result<Parsed> parsed, std::vector<Parsed>& to, Snapshot& snapshot) {
  if (parsed) return to.push_back(std::move(*parsed));
  snapshot.unreadable.push_back({store::KeyOf(object), parsed.error().message});
}

Status ReadKind(const char* kind, store::Store& store, cli::host::Objects& of_files, Snapshot& snapshot) {
  ASSIGN_OR_RETURN(store::Listing listing, store.List(kind));
  if (kind == api::kServingFleetKind) snapshot.seen.fleets = store::FleetsToObserve(listing);
  for (const store::Unreadable& one : listing.unreadable) of_files.erase(one.key);
  std::ranges::move(listing.unreadable, std::back_inserter(snapshot.unreadable));
  for (store::Object& object : listing.objects) {
    if (kind == api::kModelKind) {
      Add(object, store::ToModel(object), snapshot.models, snapshot);
    } else {
      Add(object, store::ToFleet(object), snapshot.fleets, snapshot);
    }
    const auto of_file = of_files.find(store::KeyOf(object));
    if (of_file != of_files.end()) of_file->second = std::move(object);
  }
  return {};
}

template <typename Object>
Result<const Object*> Find(const std::vector<Object>& objects, const Snapshot& snapshot, const api::Key& key) {
  const auto found = std::ranges::find_if(objects, [&](const Object& object) {
    return object.metadata.namespace_ == key.namespace_ && object.metadata.name == key.name;
  });
  if (found != objects.end()) return &*found;
  const auto unreadable = std::ranges::find(snapshot.unreadable, key, &store::Unreadable::key);
  if (unreadable != snapshot.unreadable.end()) return DataLoss("{}", unreadable->why);
  return NotFound("{} does not exist", api::ToString(key));
}

}  // namespace

Result<Snapshot> ReadSnapshot(store::Store& store, const Path& manifests, int64_t epoch) {
  Snapshot snapshot;
  // The files are read before the objects: then each file without a report has been applied to the objects.
  std::vector<store::local::ManifestFile> files;
  if (!manifests.empty()) files = store::local::ReadManifestFiles(manifests);
  snapshot.seen = cli::host::SeenOf(files, manifests);
  snapshot.seen.epoch = epoch;
  cli::host::Objects of_files = ObjectsOf(files);
  // The fleets are read after the Models, whose statuses cannot know a newer fleet then.
  for (const char* kind : {api::kModelKind, api::kServingFleetKind})
    RETURN_IF_ERROR(ReadKind(kind, store, of_files, snapshot));
  snapshot.disagreements = cli::host::DisagreementsOf(files, manifests, of_files);
  return snapshot;
}

Result<const api::Model*> FindModel(const Snapshot& snapshot, const api::Key& key) {
  return Find(snapshot.models, snapshot, key);
}

Result<const api::ServingFleet*> FindFleet(const Snapshot& snapshot, const api::Key& key) {
  return Find(snapshot.fleets, snapshot, key);
}

Result<SnapshotCache::SnapshotPtr> SnapshotCache::Get() {
  const std::lock_guard lock(mutex_);
  const MonotonicPoint began = clock_.Now();
  if (shared_ && began < shared_until_) return *shared_;
  shared_ = read_().map(
      [](Snapshot snapshot) -> SnapshotPtr { return std::make_shared<const Snapshot>(std::move(snapshot)); });
  const MonotonicPoint ended = clock_.Now();
  shared_until_ = std::max(began + kInterval, ended + kReadShareMax * (ended - began));
  return *shared_;
}

}  // namespace longshore::console
