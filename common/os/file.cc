#include "common/os/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace longshore {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

tl::unexpected<Error> ErrnoError(std::string_view doing, const Path& path, int error) {
  const Code code = error == ENOENT                      ? Code::kNotFound
                    : error == ENOSPC || error == EDQUOT ? Code::kResourceExhausted
                    : error == EACCES || error == EPERM  ? Code::kPermissionDenied
                                                         : Code::kUnavailable;
  return Fail(code, "cannot {} {}: {}", doing, path.string(), std::strerror(error));
}

Status WriteAll(int fd, std::string_view bytes, const Path& path) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError("write", path, errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

// Gives the file the owner and the mode of another one.
Status Imitate(int fd, const struct stat& model, const Path& path) {
  struct stat own {};
  if (fstat(fd, &own) != 0) return ErrnoError("stat", path, errno);
  const bool is_owned_alike = own.st_uid == model.st_uid && own.st_gid == model.st_gid;
  if (!is_owned_alike && fchown(fd, model.st_uid, model.st_gid) != 0)
    return ErrnoError("keep the owner of", path, errno);
  // After the owner, because a change of the owner clears some bits of the mode.
  if (fchmod(fd, model.st_mode & 07777) != 0) return ErrnoError("keep the mode of", path, errno);
  return {};
}

// `model`: a file whose owner and mode the new file gets; nullptr: it gets `mode`, less the umask.
Status WriteAndFlush(const Path& path, std::string_view bytes, mode_t mode, const struct stat* model) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (file.get() < 0) return ErrnoError("create", path, errno);
  if (model != nullptr) RETURN_IF_ERROR(Imitate(file.get(), *model, path));
  RETURN_IF_ERROR(WriteAll(file.get(), bytes, path));
  if (fsync(file.get()) != 0) return ErrnoError("flush", path, errno);
  return {};
}

// Makes changes of names in the folder durable: otherwise a crash may undo a rename.
Status FlushFolder(const Path& path) {
  const Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return ErrnoError("open", path, errno);
  // EINVAL means that the file system does not support fsync for folders.
  if (fsync(folder.get()) != 0 && errno != EINVAL) return ErrnoError("flush", path, errno);
  return {};
}

Status Replace(const Path& path, std::string_view bytes, mode_t mode, const struct stat* model) {
  // The process id in the name keeps two processes from writing the same temporary file.
  Path temporary = path;
  temporary += fmt::format(".{}.tmp", getpid());
  Status written = WriteAndFlush(temporary, bytes, mode, model);
  if (written && rename(temporary.c_str(), path.c_str()) != 0) written = ErrnoError("rename", path, errno);
  if (!written) {
    unlink(temporary.c_str());
    return written;
  }
  return FlushFolder(path.has_parent_path() ? path.parent_path() : Path("."));
}

}  // namespace

Result<std::string> ReadFile(const Path& path, size_t bytes_max) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return ErrnoError("open", path, errno);
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return ErrnoError("stat", path, errno);
  if (!S_ISREG(info.st_mode)) return FailedPrecondition("{} is not a regular file", path.string());
  const auto size = static_cast<size_t>(info.st_size);
  if (size > bytes_max) return ResourceExhausted("{} has {} bytes; the limit is {}", path.string(), size, bytes_max);
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t n = read(file.get(), bytes.data() + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError("read", path, errno);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

Result<std::string> ReadFileOrPipe(const Path& path, size_t bytes_max) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return ErrnoError("open", path, errno);
  std::string bytes;
  for (std::array<char, 65536> part;;) {
    const ssize_t n = read(file.get(), part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError("read", path, errno);
    if (n == 0) return bytes;
    bytes.append(part.data(), static_cast<size_t>(n));
    if (bytes.size() > bytes_max) return ResourceExhausted("{} has more than {} bytes", path.string(), bytes_max);
  }
}

Status WriteFileAtomically(const Path& path, std::string_view bytes, mode_t mode) {
  return Replace(path, bytes, mode, nullptr);
}

Status ReplaceFileAtomically(const Path& path, std::string_view bytes) {
  std::error_code error;
  const Path target = std::filesystem::canonical(path, error);
  struct stat info {};
  if (error) return ErrnoError("open", path, error.value());
  if (stat(target.c_str(), &info) != 0) return ErrnoError("stat", target, errno);
  return Replace(target, bytes, 0600, &info);  // 0600: no other user may read it before it has its owner.
}

}  // namespace longshore
