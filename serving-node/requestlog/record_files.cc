#include "serving-node/requestlog/record_files.h"

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

#include "common/log.h"
#include "serving-node/saved_model/tfrecord.h"

namespace longshore::requestlog {
namespace {

constexpr std::string_view kEnding = ".tfrecord";

tl::unexpected<Error> Refused(const Path& path, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return Fail(is_full ? Code::kResourceExhausted : Code::kUnavailable, "cannot write {}: {}", path.string(),
              strerror(error));
}

// "digits-000012.tfrecord" of the prefix "digits" is 12.
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

// A node's name as a part of a file's name.
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

// The system gives a lock back when its process ends, however it ends.
Status RecordFiles::Own() {
  std::error_code ignored;  // What is wrong shows when the file is opened.
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
  return Unavailable("{} nodes write to {} already", kSameNameMax, named_.string());
}

// What a crash tore goes; a file that cannot be continued stays as it is.
Status RecordFiles::Continue() {
  const std::vector<int64_t> numbers = Numbers();
  if (numbers.empty()) return {};
  const Path path = PathOf(numbers.back());
  const auto bytes = ReadFile(path, limits_.file_bytes_max);
  if (!bytes) return {};
  const saved_model::WholeRecords whole = saved_model::CountTfRecords(*bytes);
  if (whole.bytes < bytes->size() && !whole.is_cut) {
    spdlog::warn("{} is damaged behind {} records; it stays as it is", path.string(), whole.records);
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

// Not before the newest file holds something: a full disk must not cost the older ones.
void RecordFiles::Prune() const {
  const std::vector<int64_t> numbers = Numbers();
  std::error_code failed;
  for (size_t i = 0; i + limits_.files_max < numbers.size(); ++i) {
    std::filesystem::remove(PathOf(numbers[i]), failed);
    if (failed) spdlog::warn("cannot remove {}: {}", PathOf(numbers[i]).string(), failed.message());
  }
}

// A record is there as a whole, or not at all.
Status RecordFiles::Write(std::string_view record) {
  size_t written = 0;
  while (written < record.size()) {
    const ssize_t wrote = write(file_.get(), record.data() + written, record.size() - written);
    if (wrote > 0) written += static_cast<size_t>(wrote);
    if (wrote >= 0 || errno == EINTR) continue;
    const int error = errno;
    if (ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) {
      spdlog::error("a torn record ends a file of {}", own_.string());
      file_.Reset();  // Nothing can be read behind it.
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
    return ResourceExhausted("a record of {} bytes; a file has at most {}", record.size(), limits_.file_bytes_max);
  }
  RETURN_IF_ERROR(Open(record.size()));
  RETURN_IF_ERROR(Write(record));
  if (records_ == 1) Prune();
  return {};
}

}  // namespace longshore::requestlog
