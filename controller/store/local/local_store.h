// The embedded store: a directory of manifests, with a subfolder for the store's own records.
//
//   <dir>/*.yaml, *.yml                                       manifests of users; the store only reads them
//   <dir>/.longshore/objects/<Kind>/<namespace>/<name>.json   {apiVersion, kind, metadata, spec, status}
//   <dir>/.longshore/manifests/<file>.json                    what was last applied from a manifest file
//   <dir>/.longshore/lock                                     locked (flock) during each write
//   <dir>/.longshore/controller.lock                          locked by the running controller, see controller_lock.h
//
// Several processes may open one directory concurrently: the controller and the command line. An object of a manifest
// is applied when its meaning changes; an edit of a comment or of white space applies nothing. If a manifest is invalid
// or was deleted, the store reports a problem and keeps the last valid object. Only Delete deletes objects.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/base/path.h"
#include "common/storage/write_health.h"
#include "controller/store/local/manifest_problem.h"
#include "controller/store/store.h"

namespace longshore::store::local {

struct LocalOptions {
  Path dir{};
  bool read_manifests = false;  // Whether to apply <dir>/*.yaml and watch them, as the controller does.
  size_t object_bytes_max = 1 << 20;
  size_t objects_max = 10000;
  // Where to report each write to the disk. Its items are the folders and files below <dir>/.longshore, for example
  // "objects/Model/default" and "lock". Null: nowhere. Must outlive the store.
  storage::WriteHealth* health = nullptr;
};

// Thread-safe.
class LocalStore : public Store {
 public:
  // Creates the directory if it does not exist.
  static Result<std::unique_ptr<LocalStore>> Open(LocalOptions options);

  // Makes later calls of ReadManifests apply the objects through `writer`, a wrapper of this store, which must outlive
  // every watch.
  virtual void ApplyManifestsThrough(Store& writer) = 0;

  // Tests and reports each folder and file that could not be written. A watch with `read_manifests` then applies again
  // what could not be written. Requires `health`.
  virtual void TryToWrite() = 0;

  // Reads the manifests and applies their changes. A watch with `read_manifests` does this after each change of a file.
  virtual Status ReadManifests() = 0;

  // Returns the problem of the manifest that defines this object; nullopt if it has no problem.
  virtual std::optional<ManifestProblem> ProblemOf(const api::Key& key) const = 0;

  // Returns all problems, ordered by file, including those of files that never defined a valid object.
  virtual std::vector<ManifestProblem> Problems() const = 0;
};

}  // namespace longshore::store::local
