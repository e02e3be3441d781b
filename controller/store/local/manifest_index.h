// The records of what was taken from the manifest files of a directory: one for each file,
// <dir>/.longshore/manifests/<file>.json.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/file.h"
#include "controller/api/parse.h"
#include "controller/store/store.h"

namespace longshore::store {

// What a controller took from one manifest file.
struct TakenManifest {
  std::string digest;                          // DigestOf the text that was taken last.
  std::set<api::Key> objects;                  // The objects that the text holds.
  std::set<api::Key> gone;                     // The objects that it held earlier; they stay in the store.
  std::set<api::Key> refused;                  // The objects that the text holds and that were not applied yet.
  std::map<api::Key, std::string> meanings{};  // MeaningOf those of `objects` that were applied, as they were applied.
};

Path ManifestIndexOf(const Path& dir);

// The names of the manifest files of a directory: *.yaml and *.yml, without hidden ones.
std::set<std::string> ManifestNames(const Path& dir);

// nullopt when nothing was taken from the file; DataLoss naming the record when it is damaged.
Result<std::optional<TakenManifest>> ReadTaken(const Path& index, const std::string& file);
Status WriteTaken(const Path& index, const std::string& file, const TakenManifest& taken);

// Without generation, uid and status: the object as the text wants it.
Object ObjectOf(const api::ParsedObject& parsed);

// SHA-256 in hex. Two texts have one digest only when they are equal.
std::string DigestOf(std::string_view text);
// The digest of labels, annotations and spec. Comments, spaces and the order of fields of a manifest do not change it.
std::string MeaningOf(const Object& object);

}  // namespace longshore::store
