#include "common/os/process/steady_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/os/process/background.h"

namespace longshore::process {

Result<SteadyReader> SteadyReader::Open(const Path& path, int64_t offset) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return NotFound("cannot read {}: {}", path.string(), std::strerror(errno));
  posix_fadvise(file.get(), 0, 0, POSIX_FADV_RANDOM);  // Disables the kernel's automatic read-ahead.
  return SteadyReader(std::move(file), path, offset);
}

SteadyReader::SteadyReader(Descriptor file, Path path, int64_t offset)
    : file_(std::move(file)), path_(std::move(path)), at_(offset), announced_(offset) {}

void SteadyReader::Announce() {
  static constexpr int64_t kStepBytes = 256 << 10;
  while (announced_ < at_ + kStepBytes) {
    posix_fadvise(file_.get(), announced_, kStepBytes, POSIX_FADV_WILLNEED);
    announced_ += kStepBytes;
  }
}

Result<size_t> SteadyReader::Read(std::span<char> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    Announce();
    if (until_pause_ == 0) {
      GiveWay();
      until_pause_ = kPieceBytes;
    }
    const auto piece = bytes.subspan(done).first(std::min(bytes.size() - done, until_pause_));
    const ssize_t count = pread(file_.get(), piece.data(), piece.size(), at_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return DataLoss("cannot read {} at byte {}: {}", path_.string(), at_, std::strerror(errno));
    if (count == 0) break;
    done += static_cast<size_t>(count);
    at_ += count;
    until_pause_ -= static_cast<size_t>(count);
  }
  return done;
}

}  // namespace longshore::process
