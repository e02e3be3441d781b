#include "serving-node/sources/unpack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "common/os/process/descriptors.h"
#include "common/os/process/steady_reader.h"
#include "serving-node/sources/gunzip.h"

namespace longshore::sources {
namespace {

constexpr int64_t kBlockBytes = 4096;

tl::unexpected<Error> WriteError(const Path& path, int error) {
  const Code code = error == ENOSPC || error == EDQUOT ? Code::kResourceExhausted : Code::kUnavailable;
  return Fail(code, "cannot write {}: {}", path.string(), std::strerror(error));
}

class Unpacker {
 public:
  Unpacker(ByteSource archive, Path folder, const UnpackLimits& limits)
      : reader_(std::move(archive)),
        folder_(std::move(folder)),
        limits_(limits),
        piece_(process::SteadyReader::kPieceBytes) {}

  Result<int64_t> Run() {
    for (;;) {
      ASSIGN_OR_RETURN(const auto entry, reader_.Next());
      if (!entry) return bytes_;
      RETURN_IF_ERROR(entry->is_folder ? MakeFolder(folder_ / entry->name) : WriteFile(*entry));
    }
  }

 private:
  Status Count(int64_t bytes) {
    if (++entries_ > limits_.entries_max)
      return ResourceExhausted("the archive has more than {} entries", limits_.entries_max);
    bytes_ = bytes > INT64_MAX / 2 - bytes_ ? INT64_MAX / 2 : bytes_ + SizeOnDisk(bytes);
    return limits_.reserve(bytes_);
  }

  // Creates the folder and its missing parents.
  Status MakeFolder(const Path& path) {
    if (path == folder_) return {};
    struct stat info {};
    if (lstat(path.c_str(), &info) == 0) {
      return S_ISDIR(info.st_mode) ? Status()
                                   : InvalidArgument("the archive has both a file and a folder \"{}\"", NameOf(path));
    }
    RETURN_IF_ERROR(MakeFolder(path.parent_path()));
    RETURN_IF_ERROR(Count(1));
    if (mkdir(path.c_str(), 0755) != 0) return WriteError(path, errno);
    return {};
  }

  std::string NameOf(const Path& path) const { return path.lexically_relative(folder_).string(); }

  Status WriteFile(const TarEntry& entry) {
    const Path path = folder_ / entry.name;
    RETURN_IF_ERROR(MakeFolder(path.parent_path()));
    RETURN_IF_ERROR(Count(entry.size));
    // No path can lead outside of the folder: it contains no links, and no link is created.
    const process::Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!file.valid() && errno == EEXIST) return InvalidArgument("the archive has \"{}\" twice", entry.name);
    if (!file.valid()) return WriteError(path, errno);
    for (;;) {
      if (limits_.is_cancelled()) return Cancelled("unpacking was cancelled");
      ASSIGN_OR_RETURN(const size_t read, reader_.Read(piece_));
      if (read == 0) return {};
      RETURN_IF_ERROR(WritePiece(file.get(), {piece_.data(), read}, path));
    }
  }

  static Status WritePiece(int file, std::string_view bytes, const Path& path) {
    while (!bytes.empty()) {
      const ssize_t written = write(file, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return WriteError(path, errno);
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return {};
  }

  TarReader reader_;
  const Path folder_;
  const UnpackLimits& limits_;
  std::vector<char> piece_;
  int64_t entries_ = 0;
  int64_t bytes_ = 0;
};

// Returns a stream of `first` followed by `rest`.
ByteSource Rejoined(std::string first, ByteSource rest) {
  return [first = std::move(first), rest = std::move(rest)](std::span<char> bytes) mutable -> Result<size_t> {
    const size_t again = std::min(first.size(), bytes.size());
    std::memcpy(bytes.data(), first.data(), again);
    first.erase(0, again);
    if (again == bytes.size()) return again;
    ASSIGN_OR_RETURN(const size_t read, rest(bytes.subspan(again)));
    return again + read;
  };
}

Result<ByteSource> PlainBytes(ByteSource archive) {
  std::string magic(2, '\0');
  ASSIGN_OR_RETURN(const size_t read, archive(magic));
  magic.resize(read);
  const bool gzip = magic == "\x1f\x8b";
  ByteSource whole = Rejoined(std::move(magic), std::move(archive));
  return gzip ? Gunzipped(std::move(whole)) : std::move(whole);
}

}  // namespace

int64_t SizeOnDisk(int64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes; }

Result<int64_t> Unpack(ByteSource archive, const Path& folder, const UnpackLimits& limits) {
  ASSIGN_OR_RETURN(ByteSource plain, PlainBytes(std::move(archive)));
  return Unpacker(std::move(plain), folder, limits).Run();
}

Result<int64_t> Unpack(const Path& archive, const Path& folder, const UnpackLimits& limits) {
  ASSIGN_OR_RETURN(process::SteadyReader file, process::SteadyReader::Open(archive));
  const auto shared = std::make_shared<process::SteadyReader>(std::move(file));
  return Unpack([shared](std::span<char> bytes) { return shared->Read(bytes); }, folder, limits);
}

}  // namespace longshore::sources
