#include "serving-node/models/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "common/os/process/descriptors.h"

namespace longshore::models {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFilesMax = 100'000;
constexpr auto kTick = std::chrono::milliseconds(20);  // Above the tick of the kernel's coarse clock (at most 10 ms).
constexpr off_t kFlushBytes = 1 << 20;

// Returns the paths of the directory and of everything below it, sorted.
Result<std::vector<Path>> PathsBelow(const Path& version_dir) {
  std::vector<Path> paths = {version_dir};
  std::error_code error;
  for (fs::recursive_directory_iterator it(version_dir, error), end; !error && it != end; it.increment(error)) {
    if (paths.size() > kFilesMax) {
      return ResourceExhausted("there are more than {} files in {}", kFilesMax, version_dir.string());
    }
    paths.push_back(it->path());
  }
  if (error) return Unavailable("cannot list {}: {}", version_dir.string(), error.message());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

Result<FileState> InspectFiles(const Path& version_dir) {
  ASSIGN_OR_RETURN(const std::vector<Path> paths, PathsBelow(version_dir));
  FileState state;
  for (const Path& path : paths) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return Unavailable("{} disappeared while the files were listed", path.string());
    const int64_t changed_ns = info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec;
    state.newest_change_ns = std::max(state.newest_change_ns, changed_ns);
    state.files += fmt::format("{}:{}:{}:{};", path.string(), info.st_ino, info.st_size, changed_ns);
    if (S_ISREG(info.st_mode)) state.bytes += info.st_size;
  }
  return state;
}

Result<FileState> InspectSettledFiles(const Path& version_dir) {
  ASSIGN_OR_RETURN(const FileState state, InspectFiles(version_dir));
  const auto age =
      std::chrono::system_clock::now().time_since_epoch() - std::chrono::nanoseconds(state.newest_change_ns);
  if (age < std::chrono::nanoseconds(0) || age > kTick)
    return state;  // A change time in the future comes from another machine's clock; waiting would not help.
  std::this_thread::sleep_for(kTick - age);
  ASSIGN_OR_RETURN(FileState settled, InspectFiles(version_dir));
  if (settled.files != state.files) return Unavailable("{} is still being copied", version_dir.string());
  return settled;
}

void FlushFromCache(const Path& version_dir) {
  const auto paths = PathsBelow(version_dir);
  if (!paths) return;
  for (const Path& path : *paths) {
    const process::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info {};
    if (!file.valid() || fstat(file.get(), &info) != 0) continue;
    // Drop the pages in steps, because one call for gigabytes would occupy the processor for milliseconds.
    for (off_t at = 0; at < info.st_size; at += kFlushBytes) {
      posix_fadvise(file.get(), at, kFlushBytes, POSIX_FADV_DONTNEED);
    }
  }
}

}  // namespace longshore::models
