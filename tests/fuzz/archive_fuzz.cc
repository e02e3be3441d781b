// Unpacks the input after its first byte as a tar archive, plain or gzipped, into a folder. If the first byte is even,
// the checksums of all headers are corrected first. No archive may create anything except files and folders below that
// folder.
#include <sys/stat.h>

#include "serving-node/sources/unpack.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

// Suffices for the buffers of reading, writing and inflating, but not for the content of large files.
const longshore::fuzz::Allowance longshore::fuzz::kAllowance = {.per_byte = 4, .fixed_bytes = size_t{256} << 10};

namespace longshore::fuzz {
namespace {

constexpr size_t kBlock = 512;
constexpr int64_t kBytesMax = 1 << 20;

std::string WithSums(std::string archive) {
  for (size_t at = 0; at + kBlock <= archive.size(); at += kBlock) {
    if (archive.compare(at + 257, 5, "ustar") != 0) continue;
    archive.replace(at + 148, 8, "        ");
    unsigned sum = 0;
    for (size_t i = at; i < at + kBlock; ++i) sum += static_cast<uint8_t>(archive[i]);
    archive.replace(at + 148, 6, fmt::format("{:06o}", sum));
    archive[at + 154] = '\0';
  }
  return archive;
}

sources::ByteSource BytesOf(const std::string& bytes) {
  return [&bytes, at = size_t{0}](std::span<char> out) mutable -> Result<size_t> {
    const size_t piece = bytes.copy(out.data(), out.size(), at);
    at += piece;
    return piece;
  };
}

void CheckOnlyFilesAndFolders(const Path& folder, int64_t bytes_max) {
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    CHECK(entry.symlink_status().type() == std::filesystem::file_type::regular ||
          entry.symlink_status().type() == std::filesystem::file_type::directory);
    struct stat info {};
    CHECK(lstat(entry.path().c_str(), &info) == 0);
    CHECK(S_ISDIR(info.st_mode) || info.st_nlink == 1);
    if (S_ISREG(info.st_mode)) bytes += info.st_size;
  }
  CHECK(bytes <= bytes_max);
}

}  // namespace
}  // namespace longshore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longshore;
  static const fuzz::Folder outside;
  if (size == 0) return 0;
  const std::string rest(fuzz::View(data + 1, size - 1));
  const std::string archive = data[0] % 2 == 1 ? rest : fuzz::WithSums(rest);
  const Path folder = outside.path() / "folder";
  std::filesystem::create_directories(folder);
  const sources::UnpackLimits limits{
      .entries_max = 100,
      .reserve = [](int64_t bytes) { return bytes > fuzz::kBytesMax ? Status(ResourceExhausted("")) : Status(); },
      .is_cancelled = [] { return false; }};
  (void)sources::Unpack(fuzz::BytesOf(archive), folder, limits);
  fuzz::CheckOnlyFilesAndFolders(outside.path(), fuzz::kBytesMax);
  CHECK(std::distance(std::filesystem::directory_iterator(outside.path()), {}) == 1);
  std::filesystem::remove_all(folder);
  return 0;
}
