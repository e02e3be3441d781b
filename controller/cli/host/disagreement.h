// Differences between the manifest files of a host and the objects that were applied from them. They arise when
// `longshore apply` or `longshore delete` changes an object afterwards.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/path.h"
#include "controller/api/types.h"
#include "controller/store/local/manifest_files.h"
#include "controller/store/store.h"

namespace longshore::cli::host {

// The objects with these keys; nullopt if an object does not exist.
using Objects = std::map<api::Key, std::optional<store::Object>>;

enum class ObjectsAre { kStored, kPlanned };  // kPlanned: they are the result of a dry run.

struct Disagreement {
  api::Key key;
  std::string file;  // "/etc/longshore/digits.yaml".
  std::string text;  // A sentence without its full stop; names the file and the object.
};

// The remedy for disagreements, as a sentence.
inline constexpr const char* kDisagreementRemedy =
    "A file is applied again when its content changes, or by `longshore apply -f FILE`.";

// Returns the objects that differ from their definitions in the files of the directory `dir`. Skips files that no
// controller has read yet: they are newer than their objects. Pure.
std::vector<Disagreement> DisagreementsOf(const std::vector<store::local::ManifestFile>& files, const Path& dir,
                                          const Objects& objects, ObjectsAre are = ObjectsAre::kStored);

// Reads the manifest files of a directory. Returns a line for each disagreement; "" without disagreements or if
// `manifests` is
// "", as for a cluster.
std::string DisagreementsText(const Path& manifests, const Objects& objects, ObjectsAre are = ObjectsAre::kStored);

// Returns the keys of all objects that were applied from the manifest files of a directory; empty if it is "".
std::vector<api::Key> KeysOfManifests(const Path& manifests);

}  // namespace longshore::cli::host
