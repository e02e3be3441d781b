#include "serving-node/sources/source.h"

#include <algorithm>

namespace longshore::sources {
namespace {

constexpr std::string_view kFileScheme = "file://";
constexpr std::string_view kHttpsScheme = "https://";

}  // namespace

bool IsArchive(const VersionSource& source) { return source.uri.starts_with(kHttpsScheme); }

VersionSource SourceOf(const control::ModelState& model) { return {model.source_uri(), model.source_sha256()}; }

VersionSource SourceOf(const control::ModelState& model, int64_t version) {
  const auto other = std::ranges::find(model.other_sources(), version, &control::OtherSource::version);
  if (other == model.other_sources().end()) return SourceOf(model);
  return {other->uri(), other->sha256()};
}

Result<Path> FolderOf(const VersionSource& source) {
  const std::string& uri = source.uri;
  if (!uri.starts_with(kFileScheme) || uri.size() <= kFileScheme.size() || uri[kFileScheme.size()] != '/')
    return Unimplemented("the source \"{}\" is not supported: use file:///directory or https://host/archive", uri);
  return Path(uri.substr(kFileScheme.size()));
}

}  // namespace longshore::sources
