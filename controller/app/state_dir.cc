#include "controller/app/state_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/os/file.h"

namespace longshore::app {
namespace {

constexpr size_t kPathBytesMax = 8192;

Path LockOf(const Path& state_dir) { return state_dir / "controller.lock"; }
Path RecordOf(const Path& state_dir) { return state_dir / "manifests"; }

}  // namespace

Result<process::Descriptor> LockStateDir(const Path& state_dir) {
  std::error_code error;
  std::filesystem::create_directories(state_dir, error);
  if (error) return Unavailable("cannot create {}: {}", state_dir.string(), error.message());
  // Only this user may open the folder: the controller regards every process that opens its socket there as a node.
  chmod(state_dir.c_str(), 0700);
  const Path path = LockOf(state_dir);
  process::Descriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return Unavailable("cannot open {}: {}", path.string(), std::strerror(errno));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return FailedPrecondition("another longshore-controller uses the state directory {}", state_dir.string());
  }
  return lock;
}

Status CheckStateDir(const Path& state_dir) {
  std::error_code error;
  if (!std::filesystem::is_directory(state_dir, error))
    return NotFound("--state_dir: {} does not exist", state_dir.string());
  if (!std::filesystem::exists(LockOf(state_dir), error))
    return NotFound("--state_dir: no controller has used {}", state_dir.string());
  return {};
}

// An unchanged path is not written again, so that the controller starts on a full disk.
Status RecordManifests(const Path& state_dir, const Path& manifests) {
  if (RecordedManifests(state_dir) == manifests) return {};
  return WriteFileAtomically(RecordOf(state_dir), manifests.string());
}

Path RecordedManifests(const Path& state_dir) { return ReadFile(RecordOf(state_dir), kPathBytesMax).value_or(""); }

}  // namespace longshore::app
