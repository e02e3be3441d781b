#include "controller/version_watch/files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "common/base/sha256.h"
#include "common/version_files/digest.h"
#include "common/version_files/folder.h"

namespace longshore::version_watch {
namespace {

TimePoint ChangedAt(const struct stat& info) {
  return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::seconds(info.st_ctim.tv_sec) +
                                                        std::chrono::nanoseconds(info.st_ctim.tv_nsec)));
}

// Collects what the file system says of each path, and of what a symbolic link leads to.
class Collector {
 public:
  void Add(const Path& path) {
    AddOne(path, lstat);
    AddOne(path, stat);
  }
  // Of the base folder only its identity and time count: its content changes with each version that is added.
  void AddBase(const Path& base) {
    struct stat info {};
    if (stat(base.c_str(), &info) != 0) return;
    Text(fmt::format("{}:{};", info.st_dev, info.st_ino));
    look_.changed_at = std::max(look_.changed_at, ChangedAt(info));
    if (lstat(base.c_str(), &info) == 0) look_.changed_at = std::max(look_.changed_at, ChangedAt(info));
  }
  Look Finish() {
    look_.stamp = ToHex(texts_.Finish());
    return look_;
  }

 private:
  void Text(const std::string& text) { texts_.Update(text); }
  void AddOne(const Path& path, int (*ask)(const char*, struct stat*)) {
    struct stat info {};
    if (ask(path.c_str(), &info) != 0) return;
    look_.changed_at = std::max(look_.changed_at, ChangedAt(info));
    Text(fmt::format("{}:{}:{}:{}:{}.{};", path.string(), info.st_dev, info.st_ino, info.st_size, info.st_ctim.tv_sec,
                     info.st_ctim.tv_nsec));
  }

  Look look_;
  Sha256Stream texts_;
};

Look LookAt(const Place& place) {
  Collector collector;
  collector.AddBase(place.base);
  if (!place.golden_set.empty()) {
    collector.Add(place.base / place.golden_set);
    return collector.Finish();
  }
  const auto folder = version_files::FindVersionDir(place.base, place.version);
  if (!folder) return collector.Finish();
  collector.Add(*folder);
  std::error_code error;
  std::filesystem::recursive_directory_iterator file(*folder, error);
  const std::filesystem::recursive_directory_iterator end;
  for (size_t i = 0; !error && file != end && i < version_files::kVersionFilesMax; ++i, file.increment(error))
    collector.Add(file->path());
  return collector.Finish();
}

std::string DigestOf(const Place& place, const std::atomic<bool>& cancelled) {
  if (!place.golden_set.empty())
    return version_files::FileDigest(place.base / place.golden_set, &cancelled).value_or("");
  const auto folder = version_files::FindVersionDir(place.base, place.version);
  return folder ? version_files::VersionDigest(*folder, &cancelled).value_or("") : "";
}

}  // namespace

Reader RealReader() { return {LookAt, DigestOf}; }

}  // namespace longshore::version_watch
