// Where a model's versions come from.
#pragma once

#include <compare>
#include <string>

#include "common/base/error.h"
#include "common/base/path.h"
#include "longshore/control.pb.h"

namespace longshore::sources {

struct VersionSource {
  std::string uri;     // A folder "file:///dir" or an archive "https://host/archive".
  std::string sha256;  // SHA-256 of the archive in hex; "" for a folder.

  friend auto operator<=>(const VersionSource&, const VersionSource&) = default;
};

bool IsArchive(const VersionSource& source);

// The first function returns the source of the version that the model should serve next; the second one returns the
// source of `version`.
VersionSource SourceOf(const control::ModelState& model);
VersionSource SourceOf(const control::ModelState& model, int64_t version);

// The folder of a source that is a folder. Unimplemented for anything except file:///absolute/path.
Result<Path> FolderOf(const VersionSource& source);

}  // namespace longshore::sources
