// The manifest files of a directory as they are now, beside what a controller has taken from them. For the command
// line: only reads, and needs no controller.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/file.h"
#include "controller/store/local/manifest_index.h"
#include "controller/store/store.h"

namespace longshore::store {

struct ManifestFile {
  std::string name;              // "digits.yaml".
  std::string text;              // "": the file cannot be read.
  bool is_taken = false;         // A controller has read this text.
  std::string mistake;           // Why a controller cannot take this text, with file and line; "": it can.
  std::set<api::Key> objects;    // Applied from the text that a controller read last.
  std::set<api::Key> refused;    // Defined in this text, but a controller could not apply them.
  std::set<api::Key> not_taken;  // Defined in this text, which no controller has read yet.
};

// Ordered by name. A text that was taken is not parsed.
std::vector<ManifestFile> ReadManifestFiles(const Path& dir);

// The objects of the text, as the file wants them; InvalidArgument as ManifestFile::mistake.
Result<std::vector<Object>> ObjectsOf(const ManifestFile& file);

}  // namespace longshore::store
