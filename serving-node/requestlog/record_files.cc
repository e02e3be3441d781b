#include "serving-node/requestlog/record_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
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

}  // namespace

Path RecordFiles::PathOf(int64_t number) const {
  return prefix_.parent_path() / fmt::format("{}-{:06}{}", prefix_.filename().string(), number, kEnding);
}

std::vector<int64_t> RecordFiles::Numbers() const {
  std::vector<int64_t> numbers;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(prefix_.parent_path(), error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const auto number = NumberOf(it->path().filename().string(), prefix_.filename().string());
    if (number) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

Status RecordFiles::Begin() {
  std::error_code ignored;  // What is wrong shows when the file is opened.
  std::filesystem::create_directories(prefix_.parent_path(), ignored);
  const std::vector<int64_t> numbers = Numbers();
  const int64_t next = numbers.empty() ? 1 : numbers.back() + 1;
  const Path path = PathOf(next);
  file_ = process::Descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0640));
  if (!file_.valid()) return Refused(path, errno);
  bytes_ = 0;
  records_ = 0;
  return {};
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
      spdlog::error("a torn record ends a file of {}", prefix_.string());
      file_.Reset();  // Nothing can be read behind it.
    }
    return Refused(prefix_, error);
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
  const bool is_full = bytes_ + record.size() > limits_.file_bytes_max || records_ >= limits_.file_records_max;
  if (!file_.valid() || is_full) RETURN_IF_ERROR(Begin());
  RETURN_IF_ERROR(Write(record));
  if (records_ == 1) Prune();
  return {};
}

}  // namespace longshore::requestlog
