#include "common/os/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace longshore {
namespace {

Path WithSuffix(Path path) { return path += ".1"; }

Status Move(const Path& from, const Path& to) {
  if (rename(from.c_str(), to.c_str()) == 0 || errno == ENOENT) return {};
  return Unavailable("cannot rename {} to {}: {}", from.string(), to.string(), std::strerror(errno));
}

Status Failure(const Path& path) {
  const bool is_full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
  return Fail(is_full ? Code::kResourceExhausted : Code::kUnavailable, "cannot write {}: {}", path.string(),
              std::strerror(errno));
}

}  // namespace

LogPaths::LogPaths(const Path& path)
    : log(path),
      older(WithSuffix(path)),
      previous(path.parent_path() / ("previous." + path.filename().string())),
      previous_older(WithSuffix(previous)) {}

Status KeepLogOfLastRun(const LogPaths& paths) {
  std::error_code error;
  if (!std::filesystem::exists(paths.log, error)) return {};
  std::filesystem::remove(paths.previous_older, error);
  RETURN_IF_ERROR(Move(paths.older, paths.previous_older));
  return Move(paths.log, paths.previous);
}

Result<std::unique_ptr<LogFile>> LogFile::Open(const Options& options) {
  std::unique_ptr<LogFile> log(new LogFile(options));
  RETURN_IF_ERROR(log->BeginFile());
  return log;
}

LogFile::~LogFile() {
  if (file_ >= 0) close(file_);
}

Status LogFile::BeginFile() {
  const int file = open(paths_.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return Failure(paths_.log);
  for (const int descriptor : options_.descriptors) dup2(file, descriptor);
  if (file_ >= 0) close(file_);
  file_ = file;
  return {};
}

// If no new file can be created, the log continues in the current one.
void LogFile::BeginNextFile() {
  if (!Move(paths_.log, paths_.older)) return;
  if (!BeginFile()) (void)Move(paths_.older, paths_.log);
}

Status LogFile::Write(std::string_view line) {
  struct stat now {};
  const bool is_known = fstat(file_, &now) == 0 && now.st_size > 0;
  if (is_known && static_cast<size_t>(now.st_size) + line.size() > options_.bytes_max) BeginNextFile();
  while (!line.empty()) {
    const ssize_t written = write(file_, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failure(paths_.log);
    line.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace longshore
