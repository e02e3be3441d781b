// The folder that a Model's source names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/path.h"

namespace longshore::cli::input {

// Returns nullopt if the source is not a folder, for example an archive.
inline std::optional<Path> SourceFolder(const std::string& source_uri) {
  constexpr std::string_view kScheme = "file://";
  if (!source_uri.starts_with(kScheme)) return std::nullopt;
  return Path(source_uri.substr(kScheme.size()));
}

}  // namespace longshore::cli::input
