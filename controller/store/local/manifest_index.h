// The index: a record of what a controller has taken from the manifest files of a directory. It has one file for each
// manifest file: <dir>/.longshore/manifests/<file>.json.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/base/path.h"
#include "controller/api/parse.h"
#include "controller/store/store.h"

namespace longshore::store::local {

// What a controller took from one manifest file.
struct TakenManifest {
  std::string digest;                          // DigestOf the text that was taken last.
  std::set<api::Key> objects;                  // The objects that the text defines.
  std::set<api::Key> gone;                     // Objects of earlier texts only; they stay in the store.
  std::set<api::Key> refused;                  // Objects that the text defines and that were not applied yet.
  std::map<api::Key, std::string> meanings{};  // MeaningOf each applied object of `objects`, as it was applied.
};

Path ManifestIndexOf(const Path& dir);

// Returns the names of the manifest files of a directory: *.yaml and *.yml, without hidden ones.
std::set<std::string> ManifestNames(const Path& dir);

// Returns nullopt if nothing was taken from the file, and DataLoss, which names the index file, if the index file is
// damaged.
Result<std::optional<TakenManifest>> ReadTaken(const Path& index, const std::string& file);
Status WriteTaken(const Path& index, const std::string& file, const TakenManifest& taken);

// Returns the object as the manifest defines it, without generation, uid and status.
Object ObjectOf(const api::ParsedObject& parsed);

// Returns the SHA-256 of the text in hex.
std::string DigestOf(std::string_view text);
// Returns the digest of labels, annotations and spec. Comments, white space and the order of the fields in a manifest
// do not change it.
std::string MeaningOf(const Object& object);

}  // namespace longshore::store::local
