#include "controller/cli/logs/file_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "common/os/log_file.h"
#include "common/os/process/descriptors.h"

namespace longshore::cli::logs {
namespace {

constexpr std::chrono::milliseconds kPollInterval{200};
constexpr size_t kPieceBytes = 64 << 10;
constexpr size_t kShownBytesMax = size_t{64} << 20;  // More than the files of a node have by default.

// A file that another process appends to. It stays the same file if that process renames it.
class GrowingFile {
 public:
  static Result<GrowingFile> Open(const Path& path) {
    GrowingFile file;
    file.path_ = path;
    file.descriptor_.Reset(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.descriptor_.valid()) return file;
    const Code code = errno == ENOENT   ? Code::kNotFound
                      : errno == EACCES ? Code::kPermissionDenied
                                        : Code::kUnavailable;
    return Fail(code, "cannot open the log {}: {}", path.string(), std::strerror(errno));
  }

  // Skips all but the last kShownBytesMax bytes. The first line after it may lack its beginning.
  void SkipOld() {
    struct stat seen {};
    const auto limit = static_cast<off_t>(kShownBytesMax);
    if (fstat(descriptor_.get(), &seen) == 0 && seen.st_size > limit)
      lseek(descriptor_.get(), seen.st_size - limit, SEEK_SET);
  }

  // Reads from the beginning again if the file became shorter, as when it is rotated by copying it.
  void Rewind() {
    struct stat seen {};
    if (fstat(descriptor_.get(), &seen) == 0 && seen.st_size < lseek(descriptor_.get(), 0, SEEK_CUR))
      lseek(descriptor_.get(), 0, SEEK_SET);
  }

  // The bytes that were appended since the last call.
  Result<std::string> Read() {
    std::string text;
    std::vector<char> piece(kPieceBytes);
    while (text.size() < kShownBytesMax) {
      const ssize_t size = read(descriptor_.get(), piece.data(), piece.size());
      if (size < 0) return Unavailable("cannot read the log {}: {}", path_.string(), std::strerror(errno));
      if (size == 0) break;
      text.append(piece.data(), static_cast<size_t>(size));
    }
    return text;
  }

  // Whether the path still leads to this file.
  bool IsAtItsPath() const {
    struct stat opened {};
    struct stat named {};
    return fstat(descriptor_.get(), &opened) == 0 && stat(path_.c_str(), &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
  }

 private:
  Path path_;
  process::Descriptor descriptor_;
};

// The part before `log`; "" if `log` is the first one.
Result<std::string> OlderPart(const Path& path) {
  auto file = GrowingFile::Open(path);
  if (!file && file.error().code == Code::kNotFound) return std::string();
  if (!file) return tl::make_unexpected(file.error());
  return file->Read();
}

Status Follow(const Path& log, GrowingFile file, Printer& printer) {
  for (;; std::this_thread::sleep_for(kPollInterval)) {
    const bool is_current = file.IsAtItsPath();
    file.Rewind();
    ASSIGN_OR_RETURN(const std::string text, file.Read());
    printer.Print(text);
    if (is_current) continue;
    // Everything in the renamed file was read. Between two runs there may be no file for a moment.
    auto next = GrowingFile::Open(log);
    if (next) {
      file = std::move(*next);
    } else if (std::error_code error; !std::filesystem::exists(log.parent_path(), error)) {
      printer.End();
      return {};
    }
  }
}

}  // namespace

Status PrintFileLog(const Path& log, const Wanted& wanted, TimePoint now, Printer& printer) {
  const LogPaths paths(log);
  auto file = GrowingFile::Open(wanted.previous ? paths.previous : paths.log);
  if (!file) return tl::make_unexpected(file.error());
  file->SkipOld();
  ASSIGN_OR_RETURN(std::string text, OlderPart(wanted.previous ? paths.previous_older : paths.older));
  ASSIGN_OR_RETURN(const std::string newest, file->Read());
  text += newest;
  printer.Print(SelectLines(text, wanted, now));
  if (wanted.follow) return Follow(log, std::move(*file), printer);
  printer.End();
  return {};
}

}  // namespace longshore::cli::logs
