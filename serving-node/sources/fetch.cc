#include "serving-node/sources/fetch.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "common/base/sha256.h"
#include "common/os/process/descriptors.h"
#include "common/os/process/steady_reader.h"
#include "serving-node/sources/unpack.h"

namespace longshore::sources {
namespace {

// The file of a download, with the SHA-256 of its bytes so far.
class Part {
 public:
  static Result<Part> Open(const Path& path) {
    process::Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!file.valid()) return Broken("open", path);
    return Part(path, std::move(file));
  }

  int64_t bytes() const { return bytes_; }
  std::string digest() { return ToHex(digest_->Finish()); }

  // Reads the file, so that bytes() and digest() include what earlier attempts downloaded.
  Status ReadAgain() {
    ASSIGN_OR_RETURN(process::SteadyReader file, process::SteadyReader::Open(path_));
    std::vector<char> piece(process::SteadyReader::kPieceBytes);
    Restart();
    for (;;) {
      ASSIGN_OR_RETURN(const size_t read, file.Read(piece));
      if (read == 0) break;
      digest_->Update({piece.data(), read});
      bytes_ += static_cast<int64_t>(read);
    }
    if (lseek(file_.get(), bytes_, SEEK_SET) < 0) return Broken("seek in", path_);
    return {};
  }

  Status Truncate() {
    Restart();
    if (ftruncate(file_.get(), 0) != 0 || lseek(file_.get(), 0, SEEK_SET) < 0) return Broken("empty", path_);
    return {};
  }

  Status Append(std::string_view bytes) {
    digest_->Update(bytes);
    bytes_ += static_cast<int64_t>(bytes.size());
    while (!bytes.empty()) {
      const ssize_t written = write(file_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Broken("write", path_);
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return {};
  }

 private:
  Part(Path path, process::Descriptor file) : path_(std::move(path)), file_(std::move(file)) { Restart(); }

  static tl::unexpected<Error> Broken(std::string_view doing, const Path& path) {
    const Code code = errno == ENOSPC || errno == EDQUOT ? Code::kResourceExhausted : Code::kUnavailable;
    return Fail(code, "cannot {} {}: {}", doing, path.string(), std::strerror(errno));
  }
  void Restart() {
    digest_ = std::make_unique<Sha256Stream>();
    bytes_ = 0;
  }

  Path path_;
  process::Descriptor file_;
  std::unique_ptr<Sha256Stream> digest_;
  int64_t bytes_ = 0;
};

Status Download(const VersionSource& source, const FetchDeps& deps, Part& part) {
  std::optional<int64_t> total;
  download::Request request = deps.request;
  request.url = source.uri;
  request.from = part.bytes();
  const auto begin = [&](int64_t from, std::optional<int64_t> whole) -> Status {
    total = whole;
    if (from == 0) RETURN_IF_ERROR(part.Truncate());
    return deps.cache.Reserve(source.sha256, total.value_or(part.bytes()), part.bytes());
  };
  const auto take = [&](std::string_view piece) -> Status {
    const auto bytes = part.bytes() + static_cast<int64_t>(piece.size());
    if (bytes > total.value_or(0)) RETURN_IF_ERROR(deps.cache.Reserve(source.sha256, bytes, part.bytes()));
    RETURN_IF_ERROR(part.Append(piece));
    deps.on_progress({"fetching", part.bytes(), total});
    return {};
  };
  return deps.get(request, {.on_begin = begin, .on_piece = take, .is_cancelled = deps.is_cancelled});
}

// Returns true if the file is the complete archive. If it is not, the digest of its bytes must be computed a second
// time, because digest() ends the stream. This happens only after an interrupted download.
Result<bool> IsWhole(const VersionSource& source, Part& part) {
  RETURN_IF_ERROR(part.ReadAgain());
  if (part.bytes() == 0) return false;
  if (part.digest() == source.sha256) return true;
  RETURN_IF_ERROR(part.ReadAgain());
  return false;
}

Status Complete(const VersionSource& source, const FetchDeps& deps) {
  ASSIGN_OR_RETURN(Part part, Part::Open(deps.cache.PartOf(source.sha256)));
  ASSIGN_OR_RETURN(const bool whole, IsWhole(source, part));
  if (whole) return {};
  Status got = Download(source, deps, part);
  if (!got && got.error().code == Code::kOutOfRange) {
    // The server cannot continue at this position, because its file has changed. Start again at the beginning.
    RETURN_IF_ERROR(part.Truncate());
    got = Download(source, deps, part);
  }
  RETURN_IF_ERROR(got);
  const std::string digest = part.digest();
  if (digest == source.sha256) return {};
  return DataLoss("{}: the {} downloaded bytes have the SHA-256 {}, not {}", download::ShownUrl(source.uri),
                  part.bytes(), digest, source.sha256);
}

Result<Path> UnpackAndCommit(const VersionSource& source, const FetchDeps& deps) {
  const Path archive = deps.cache.PartOf(source.sha256);
  std::error_code error;
  const auto archive_bytes = static_cast<int64_t>(std::filesystem::file_size(archive, error));
  int64_t there = 0;
  const auto reserve = [&](int64_t bytes) -> Status {
    if (deps.is_cancelled()) return Cancelled("unpacking was cancelled");
    RETURN_IF_ERROR(deps.cache.Reserve(source.sha256, archive_bytes + bytes, archive_bytes + there));
    there = bytes;
    deps.on_progress({"unpacking", bytes, {}});
    return {};
  };
  const UnpackLimits limits{.reserve = reserve, .is_cancelled = deps.is_cancelled};
  const auto unpacked = Unpack(archive, deps.cache.FilesBeingUnpacked(source.sha256), limits);
  if (!unpacked) return Prefixed(unpacked.error(), download::ShownUrl(source.uri));
  deps.on_progress({"flushing", *unpacked, {}});
  auto folder = deps.cache.Commit(source.sha256);
  if (!folder) return Prefixed(folder.error(), download::ShownUrl(source.uri));
  return folder;
}

}  // namespace

Result<Path> Fetch(const VersionSource& source, const FetchDeps& deps) {
  const Status complete = Complete(source, deps);
  Result<Path> folder = complete ? UnpackAndCommit(source, deps) : tl::make_unexpected(complete.error());
  if (folder) return folder;
  const Code code = folder.error().code;
  const bool useless = code == Code::kDataLoss || code == Code::kInvalidArgument || code == Code::kResourceExhausted;
  deps.cache.Abandon(source.sha256, !useless);
  return folder;
}

}  // namespace longshore::sources
