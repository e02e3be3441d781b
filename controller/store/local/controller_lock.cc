#include "controller/store/local/controller_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <string>

#include "common/base/text.h"
#include "common/json/json.h"
#include "common/json/path.h"
#include "common/os/file.h"

namespace longshore::store::local {
namespace {

constexpr size_t kTextBytesMax = 16 << 10;  // More than the longest path.
constexpr size_t kBlockBytes = 4096;        // The text has whole blocks, which the file then has for good.
constexpr size_t kProblemBytesMax = 1000;

Path LockPath(const Path& dir) { return dir / ".longshore" / "controller.lock"; }

// Returns the description of a lock on the whole file. Such a lock belongs to the open file, not to the process, so one
// process can both hold and test it.
struct flock WholeFile(int type) {
  struct flock lock {};
  lock.l_type = static_cast<short>(type);
  lock.l_whence = SEEK_SET;
  return lock;
}

// Reads the text of the file. While a controller starts, the text has no pid and no epoch. The epoch is then the
// maximum, because the running controller has not written any status yet. The state directory is also known if no
// controller is running: its nodes may still serve.
void ReadDescription(const Path& path, ControllerLockState& seen) {
  if (seen.is_running) seen.epoch = std::numeric_limits<int64_t>::max();
  const auto text = ReadFile(path, kTextBytesMax);
  const Result<Json> json = text ? ParseJson(*text) : tl::make_unexpected(text.error());
  if (!json || !json->is_object()) return;
  seen.state_dir = TextAt(*json, {"state_dir"});
  const Json pid = json->value("pid", Json());
  const Json epoch = json->value("epoch", Json());
  if (!seen.is_running || !pid.is_number_integer() || !epoch.is_number_integer()) return;
  seen.pid = pid.get<pid_t>();
  seen.epoch = epoch.get<int64_t>();
  seen.console = TextAt(*json, {"console"});
  seen.problem = TextAt(*json, {"problem"});
}

}  // namespace

Result<ControllerLock> ControllerLock::Take(const Path& dir) {
  const Path path = LockPath(dir);
  process::Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) return Unavailable("cannot open {}: {}", path.string(), std::strerror(errno));
  struct flock lock = WholeFile(F_WRLCK);
  if (fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES)
      return FailedPrecondition("another longshore-controller uses the directory of manifests {}", dir.string());
    return Unavailable("cannot lock {}: {}", path.string(), std::strerror(errno));
  }
  ControllerLock taken(std::move(file));
  RETURN_IF_ERROR(taken.Write());  // Removes the pid and the epoch of an earlier controller.
  return taken;
}

Status ControllerLock::Describe(int64_t epoch, const Path& state_dir, const std::string& console) {
  const std::string absolute = std::filesystem::absolute(state_dir).lexically_normal();
  description_ = {{"pid", getpid()}, {"epoch", epoch}, {"state_dir", absolute}, {"console", console}};
  return Write();
}

Status ControllerLock::SetProblem(const std::string& problem) {
  description_["problem"] = CutText(problem, kProblemBytesMax);
  return Write();
}

// Replaces the text of the file and keeps its modification time. The file never shrinks, so a reader never finds the
// end of an older text after the new one. A new file gets the modification time 0 (1970), because no controller has
// been active yet.
Status ControllerLock::Write() {
  const int file = file_.get();
  struct stat before {};
  if (fstat(file, &before) != 0)
    return Unavailable("cannot read the status of the lock file: {}", std::strerror(errno));
  std::string text = DumpJson(description_);
  const size_t bytes = std::max((text.size() / kBlockBytes + 1) * kBlockBytes, static_cast<size_t>(before.st_size));
  text.resize(bytes - 1, ' ');
  text += '\n';
  const timespec last_active = before.st_size == 0 ? timespec{} : before.st_mtim;
  const timespec times[2] = {last_active, last_active};
  const bool written = pwrite(file, text.data(), text.size(), 0) == std::ssize(text) && futimens(file, times) == 0;
  if (!written) return Unavailable("cannot write the lock file: {}", std::strerror(errno));
  return {};
}

Status ControllerLock::RecordActivity() {
  if (futimens(file_.get(), nullptr) == 0) return {};
  return Unavailable("cannot set the modification time of the lock file: {}", std::strerror(errno));
}

Result<ControllerLockState> ReadControllerLock(const Path& dir) {
  const Path path = LockPath(dir);
  const process::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return ControllerLockState{};
  if (!file.valid()) return Unavailable("cannot open {}: {}", path.string(), std::strerror(errno));
  struct flock lock = WholeFile(F_RDLCK);
  struct stat info {};
  if (fcntl(file.get(), F_OFD_GETLK, &lock) != 0 || fstat(file.get(), &info) != 0)
    return Unavailable("cannot test the lock of {}: {}", path.string(), std::strerror(errno));
  ControllerLockState seen{.is_running = lock.l_type != F_UNLCK};
  const auto since_1970 = std::chrono::seconds(info.st_mtim.tv_sec) + std::chrono::nanoseconds(info.st_mtim.tv_nsec);
  if (info.st_size > 0) seen.last_active_at = TimePoint(std::chrono::floor<Duration>(since_1970));
  ReadDescription(path, seen);
  return seen;
}

}  // namespace longshore::store::local
