// The embedded store: a directory of manifests, and beside them the store's own records.
//
//   <dir>/*.yaml, *.yml                                 what users write; only read here
//   <dir>/.longshore/objects/<Kind>/<namespace>/<name>.json   {apiVersion, kind, metadata, spec, status}
//   <dir>/.longshore/manifests/<file>.json               what was applied last from a manifest file
//   <dir>/.longshore/lock                               held (flock) for the length of each write
//   <dir>/.longshore/controller.lock                    held by the running controller, see controller_lock.h
//
// Several processes may open one directory at once: the controller and the command line. An object of a manifest is
// applied when its meaning changes: an edit of a comment or of white space applies nothing. A manifest that is invalid,
// or that vanishes, is a problem that is reported; the last good object stays. Only Delete deletes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/file.h"
#include "controller/store/store.h"

namespace longshore::store {

struct LocalOptions {
  Path dir{};
  bool read_manifests = false;  // The controller's part: apply <dir>/*.yaml and watch them.
  size_t object_bytes_max = 1 << 20;
  size_t objects_max = 10000;
};

// What is wrong with a manifest.
struct ManifestProblem {
  std::string file;
  std::string reason;   // "Invalid", "NotApplied", "Vanished" or "Duplicate".
  std::string message;  // With file, line and field, as the parser said.
};

// Thread-safe.
class LocalStore : public Store {
 public:
  // Creates the directory when it is not there.
  static Result<std::unique_ptr<LocalStore>> Open(LocalOptions options);

  // From now on manifests are applied through this store, which leads here; it outlives every watch.
  virtual void ApplyManifestsThrough(Store& writer) = 0;

  // Reads the manifests again now, as a watch with read_manifests does after each change of them.
  virtual Status ReadManifests() = 0;

  // The problem of the manifest that this object came from; nothing when there is none.
  virtual std::optional<ManifestProblem> ProblemOf(const api::Key& key) const = 0;

  // All problems, ordered by file, also of files from which no object ever came.
  virtual std::vector<ManifestProblem> Problems() const = 0;
};

}  // namespace longshore::store
