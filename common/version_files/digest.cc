#include "common/version_files/digest.h"

#include <algorithm>
#include <array>
#include <vector>

#include "common/base/sha256.h"
#include "common/os/process/steady_reader.h"

namespace longshore::version_files {
namespace {

void UpdateNumber(uint64_t value, Sha256Stream* digest) {
  digest->Update({reinterpret_cast<const char*>(&value), sizeof(value)});
}

Result<std::vector<std::string>> RelativeNames(const Path& dir) {
  std::error_code error;
  std::vector<std::string> names;
  auto walk = std::filesystem::recursive_directory_iterator(dir, error);
  for (; !error && walk != std::filesystem::recursive_directory_iterator(); walk.increment(error)) {
    if (!walk->is_regular_file(error) || error) continue;
    if (names.size() == kVersionFilesMax)
      return ResourceExhausted("{} has more than {} files", dir.string(), kVersionFilesMax);
    names.push_back(walk->path().lexically_relative(dir).generic_string());
  }
  if (error) return NotFound("cannot list {}: {}", dir.string(), error.message());
  if (names.empty()) return FailedPrecondition("{} has no files", dir.string());
  std::sort(names.begin(), names.end());
  return names;
}

Status UpdateFile(const Path& path, const std::atomic<bool>* cancelled, Sha256Stream* digest) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) return NotFound("cannot read {}", path.string());
  ASSIGN_OR_RETURN(process::SteadyReader file, process::SteadyReader::Open(path));
  UpdateNumber(size, digest);
  std::vector<char> block(process::SteadyReader::kPieceBytes);
  uint64_t total = 0;
  while (true) {
    if (cancelled != nullptr && *cancelled) return Cancelled("the digest of {} is not needed any more", path.string());
    ASSIGN_OR_RETURN(const size_t read, file.Read(block));
    digest->Update({block.data(), read});
    total += read;
    if (read < block.size()) break;
  }
  if (total != size)
    return FailedPrecondition("{} changed while it was read: {} bytes, then {}", path.string(), size, total);
  return {};
}

}  // namespace

Result<std::string> VersionDigest(const Path& version_dir, const std::atomic<bool>* cancelled) {
  ASSIGN_OR_RETURN(const auto names, RelativeNames(version_dir));
  Sha256Stream digest;
  for (const auto& name : names) {
    UpdateNumber(name.size(), &digest);
    digest.Update(name);
    RETURN_IF_ERROR(UpdateFile(version_dir / name, cancelled, &digest));
  }
  return ToHex(digest.Finish());
}

Result<std::string> FileDigest(const Path& file, const std::atomic<bool>* cancelled) {
  Sha256Stream digest;
  RETURN_IF_ERROR(UpdateFile(file, cancelled, &digest));
  return ToHex(digest.Finish());
}

}  // namespace longshore::version_files
