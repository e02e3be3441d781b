#include "controller/app/version_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "common/base/path.h"

namespace longshore::app {
namespace {

// The most files of a version that are looked at. Real versions have fewer.
constexpr int kFilesMax = 10'000;

std::optional<TimePoint> ChangedAt(const Path& path) {
  struct stat seen {};
  if (stat(path.c_str(), &seen) != 0) return std::nullopt;
  return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::seconds(seen.st_ctim.tv_sec) +
                                                        std::chrono::nanoseconds(seen.st_ctim.tv_nsec)));
}

// The folder may have leading zeros in its name, as nodes accept it.
std::optional<Path> FolderOf(const Path& base, int64_t version) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(base, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    int64_t number = -1;
    const auto [last, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (problem == std::errc{} && last == name.data() + name.size() && number == version) return it->path();
  }
  return std::nullopt;
}

}  // namespace

std::optional<TimePoint> FilesChangedAt(const api::ModelSpec& spec, int64_t version) {
  constexpr std::string_view kFolder = "file://";
  if (!spec.source_uri.starts_with(kFolder)) return std::nullopt;
  const Path base = spec.source_uri.substr(kFolder.size());
  const auto folder = FolderOf(base, version);
  if (!folder) return std::nullopt;
  std::optional<TimePoint> newest = ChangedAt(*folder);
  const std::string& golden_set = spec.validation.golden_set;
  if (!golden_set.empty()) newest = std::max(newest, ChangedAt(base / golden_set));
  std::error_code error;
  std::filesystem::recursive_directory_iterator file(*folder, error);
  for (int i = 0; !error && file != std::filesystem::recursive_directory_iterator() && i < kFilesMax; ++i) {
    newest = std::max(newest, ChangedAt(file->path()));
    file.increment(error);
  }
  return newest;
}

}  // namespace longshore::app
