// Where a model's versions come from.
#pragma once

#include <compare>
#include <string>

#include "common/error.h"
#include "common/file.h"
#include "longshore/control.pb.h"

namespace longshore::sources {

struct Source {
  std::string uri;     // "file:///dir", "https://host/archive"
  std::string sha256;  // Of an archive; "" of a folder.

  friend auto operator<=>(const Source&, const Source&) = default;
};

bool IsArchive(const Source& source);

// Of what the model is to serve next, and of one of its versions.
Source SourceOf(const control::ModelState& model);
Source SourceOf(const control::ModelState& model, int64_t version);

// Of a source that is a folder. Unimplemented for anything but file:///absolute/path.
Result<Path> FolderOf(const Source& source);

}  // namespace longshore::sources
