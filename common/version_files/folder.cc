#include "common/version_files/folder.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace longshore::version_files {
namespace {

namespace fs = std::filesystem;

std::optional<int64_t> ParseVersion(const std::string& name) {
  int64_t version = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), version);
  if (error != std::errc{} || end != name.data() + name.size() || version < 0 || name.front() == '-')
    return std::nullopt;
  return version;
}

// Returns false for dangling and cyclic links.
bool IsDirectory(const fs::directory_entry& entry) {
  std::error_code error;
  return entry.is_directory(error);
}

}  // namespace

Result<std::vector<int64_t>> ListVersions(const Path& base_path) {
  std::error_code error;
  std::vector<int64_t> versions;
  for (fs::directory_iterator it(base_path, error), end; !error && it != end; it.increment(error)) {
    const auto version = ParseVersion(it->path().filename());
    if (version && IsDirectory(*it)) versions.push_back(*version);
  }
  if (error) return NotFound("Could not find base path {}: {}", base_path.string(), error.message());
  std::sort(versions.begin(), versions.end());
  versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
  return versions;
}

Result<Path> FindVersionDir(const Path& base_path, int64_t version) {
  std::error_code error;
  const Path plain = base_path / std::to_string(version);
  if (fs::is_directory(plain, error)) return plain;
  for (fs::directory_iterator it(base_path, error), end; !error && it != end; it.increment(error)) {
    if (ParseVersion(it->path().filename()) == version && IsDirectory(*it)) return it->path();
  }
  if (const Status checked = CheckBasePath(base_path); !checked) return NotFound("{}", checked.error().message);
  return NotFound("no directory of version {} in {}", version, base_path.string());
}

Status CheckBasePath(const Path& base_path) {
  std::error_code error;
  if (!fs::exists(base_path / "saved_model.pb", error)) return {};
  const Path dir = base_path.has_filename() ? base_path : base_path.parent_path();
  if (ParseVersion(dir.filename())) {
    return FailedPrecondition("{} is the folder of a version (it contains saved_model.pb): give its parent folder, {}",
                              dir.string(), dir.parent_path().string());
  }
  return FailedPrecondition(
      "{} contains saved_model.pb itself: move the files of this version into a folder whose name is a number, such as "
      "{}",
      dir.string(), (dir / "1").string());
}

}  // namespace longshore::version_files
