#include "serving-node/observe/requestlog/record_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "common/os/file.h"
#include "common/os/log.h"
#include "common/storage/storage.h"
#include "serving-node/saved_model/tfrecord.h"

namespace longshore::requestlog {
namespace {

constexpr std::string_view kEnding = ".tfrecord";

tl::unexpected<Error> Refused(const Path& path, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return Fail(is_full ? Code::kResourceExhausted : Code::kUnavailable, "cannot write {}: {}", path.string(),
              strerror(error));
}

// Returns the number in a file name: 12 for "digits-000012.tfrecord" with the prefix "digits". nullopt for other names.
std::optional<int64_t> NumberOf(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || !name.ends_with(kEnding)) return std::nullopt;
  name.remove_prefix(prefix.size());
  name.remove_suffix(kEnding.size());
  if (!name.starts_with('-')) return std::nullopt;
  name.remove_prefix(1);
  int64_t number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  if (read.ec != std::errc() || read.ptr != name.data() + name.size()) return std::nullopt;
  return number;
}

// Replaces the characters of a node's name that are not safe in a file name.
std::string ForFile(std::string name) {
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-' && c != '.') c = '_';
  }
  return name;
}

}  // namespace

RecordFiles::RecordFiles(Path prefix, const std::string& owner, RecordFileLimits limits)
    : named_(std::move(prefix += "-" + ForFile(owner))), limits_(limits) {}

Path RecordFiles::PathOf(int64_t number) const {
  return own_.parent_path() / fmt::format("{}-{:06}{}", own_.filename().string(), number, kEnding);
}

std::vector<int64_t> RecordFiles::Numbers() const {
  std::vector<int64_t> numbers;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(own_.parent_path(), error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const auto number = NumberOf(it->path().filename().string(), own_.filename().string());
    if (number) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

// Takes the first free name by locking its .lock file. The system releases the lock when the process ends, even after a
// crash.
Status RecordFiles::Own() {
  std::error_code ignored;  // If the directory cannot be created, opening the file fails, too.
  std::filesystem::create_directories(named_.parent_path(), ignored);
  for (int i = 1; i <= kSameNameMax; ++i) {
    own_ = named_;
    if (i > 1) own_ += fmt::format(".{}", i);
    Path path = own_;
    path += ".lock";
    process::Descriptor lock(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0640));
    if (!lock.valid()) return Refused(path, errno);
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    lock_ = std::move(lock);
    return {};
  }
  return Unavailable("{} nodes are already writing to {}", kSameNameMax, named_.string());
}

// Continues the newest file. Removes an incomplete record at its end, which a crash left; does not change a file that
// is damaged elsewhere.
Status RecordFiles::Continue() {
  const std::vector<int64_t> numbers = Numbers();
  if (numbers.empty()) return {};
  const Path path = PathOf(numbers.back());
  const auto bytes = ReadFile(path, limits_.file_bytes_max);
  if (!bytes) return {};
  const saved_model::WholeRecords whole = saved_model::CountTfRecords(*bytes);
  if (whole.bytes < bytes->size() && !whole.is_cut) {
    spdlog::warn("{} is damaged after {} records; new records go to a new file", path.string(), whole.records);
    return {};
  }
  process::Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file.valid()) return Refused(path, errno);
  if (whole.bytes < bytes->size() && ftruncate(file.get(), static_cast<off_t>(whole.bytes)) != 0) {
    return Refused(path, errno);
  }
  file_ = std::move(file);
  bytes_ = whole.bytes;
  records_ = whole.records;
  return {};
}

Status RecordFiles::Begin() {
  const std::vector<int64_t> numbers = Numbers();
  const int64_t next = numbers.empty() ? 1 : numbers.back() + 1;
  const Path path = PathOf(next);
  file_ = process::Descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0640));
  if (!file_.valid()) return Refused(path, errno);
  bytes_ = 0;
  records_ = 0;
  return {};
}

bool RecordFiles::HasRoom(size_t record_bytes) const {
  return file_.valid() && bytes_ + record_bytes <= limits_.file_bytes_max && records_ < limits_.file_records_max;
}

Status RecordFiles::Open(size_t record_bytes) {
  if (!lock_.valid()) {
    RETURN_IF_ERROR(Own());
    RETURN_IF_ERROR(Continue());
  }
  return HasRoom(record_bytes) ? Status() : Begin();
}

// Removes the oldest files. Called only when the newest file has a record: if the disk is full, old files must not be
// removed in exchange for an empty one.
void RecordFiles::Prune() const {
  const std::vector<int64_t> numbers = Numbers();
  std::error_code failed;
  for (size_t i = 0; i + limits_.files_max < numbers.size(); ++i) {
    std::filesystem::remove(PathOf(numbers[i]), failed);
    if (failed) spdlog::warn("cannot remove {}: {}", PathOf(numbers[i]).string(), failed.message());
  }
}

// Writes the record completely, or removes what was written of it.
Status RecordFiles::Write(std::string_view record) {
  size_t written = 0;
  while (written < record.size()) {
    const ssize_t wrote = write(file_.get(), record.data() + written, record.size() - written);
    if (wrote > 0) written += static_cast<size_t>(wrote);
    if (wrote >= 0 || errno == EINTR) continue;
    const int error = errno;
    if (ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) {
      spdlog::error("the newest file {}-*{} ends with an incomplete record that cannot be removed", own_.string(),
                    kEnding);
      file_.Reset();  // The next record starts a new file, because no record after the incomplete one can be read.
    }
    return Refused(own_, error);
  }
  bytes_ += record.size();
  ++records_;
  return {};
}

Status RecordFiles::Append(std::string_view payload) {
  const std::string record = saved_model::EncodeTfRecord(payload);
  if (record.size() > limits_.file_bytes_max) {
    return ResourceExhausted("the record has {} bytes, but a file may have at most {}", record.size(),
                             limits_.file_bytes_max);
  }
  RETURN_IF_ERROR(Open(record.size()));
  RETURN_IF_ERROR(Write(record));
  if (records_ == 1) Prune();
  return {};
}

Status RecordFiles::Try() {
  RETURN_IF_ERROR(Open(0));
  return storage::TryFolder(own_.parent_path());
}

}  // namespace longshore::requestlog
