#include "serving-node/sources/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/json/json.h"
#include "common/os/file.h"
#include "common/os/log.h"
#include "common/version_files/digest.h"
#include "common/version_files/folder.h"
#include "serving-node/models/discovery.h"
#include "serving-node/models/model_store.h"
#include "serving-node/sources/unpack.h"

namespace longshore::sources {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStaging = "staging";
constexpr const char* kFiles = "files";
constexpr const char* kRecord = "record.json";
constexpr const char* kPart = ".part";
constexpr size_t kRecordBytesMax = 4096;

struct Record {
  std::string digest;
  int64_t bytes = 0;
};

Result<Record> ReadRecord(const Path& entry) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(entry / kRecord, kRecordBytesMax));
  const Json json = Json::parse(text, nullptr, false);
  const bool whole = json.is_object() && json.contains("digest") && json["digest"].is_string() &&
                     json.contains("bytes") && json["bytes"].is_number_integer();
  if (!whole) return DataLoss("{} is damaged", (entry / kRecord).string());
  return Record{json["digest"].get<std::string>(), json["bytes"].get<int64_t>()};
}

int64_t SizeOf(const Path& folder) {
  int64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    bytes += SizeOnDisk(it->is_regular_file(gone) ? static_cast<int64_t>(it->file_size(gone)) : 1);
  }
  return bytes;
}

bool HoldsVersions(const Path& folder) {
  const auto versions = version_files::ListVersions(folder);
  if (!versions) return false;
  return std::ranges::any_of(*versions, [&](int64_t version) {
    const auto dir = version_files::FindVersionDir(folder, version);
    return dir && models::CheckComplete(*dir);
  });
}

// Returns the folder that holds the versions: the top of the archive, or a folder at its top.
Result<Path> FolderOfVersions(const Path& files) {
  if (HoldsVersions(files)) return files;
  std::error_code error;
  for (fs::directory_iterator it(files, error), end; !error && it != end; it.increment(error)) {
    if (HoldsVersions(it->path())) return it->path();
  }
  return InvalidArgument("the archive has no VERSION/saved_model.pb, neither at its top nor in a folder there");
}

// Waits until everything that was written to the file system of `folder` is on the disk, so that it survives a power
// failure.
Status Flush(const Path& folder) {
  const process::Descriptor dir(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (dir.valid() && syncfs(dir.get()) == 0) return {};
  return Unavailable("cannot flush {}: {}", folder.string(), std::strerror(errno));
}

Result<int64_t> FreeOnDisk(const Path& dir) {
  struct statvfs info {};
  if (statvfs(dir.c_str(), &info) != 0)
    return Unavailable("cannot read the free space of {}: {}", dir.string(), std::strerror(errno));
  return static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
}

}  // namespace

bool IsSha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<std::unique_ptr<Cache>> Cache::Open(const Path& dir, int64_t bytes_max) {
  std::error_code error;
  fs::create_directories(dir / kStaging, error);
  if (error) return FailedPrecondition("cannot create the cache {}: {}", dir.string(), error.message());
  std::unique_ptr<Cache> cache(new Cache(dir, bytes_max));
  RETURN_IF_ERROR(cache->Lock());
  cache->ClearStaging();
  cache->ReadEntries();
  return cache;
}

Status Cache::Lock() {
  const Path file = dir_ / "lock";
  lock_.Reset(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock_.valid()) return FailedPrecondition("cannot create {}: {}", file.string(), std::strerror(errno));
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return {};
  return FailedPrecondition("another node uses the cache {}: {} is locked", dir_.string(), file.string());
}

void Cache::ClearStaging() {
  std::error_code error;
  for (fs::directory_iterator it(dir_ / kStaging, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->path().extension() != kPart) fs::remove_all(it->path(), ignored);
  }
}

void Cache::ReadEntries() {
  std::error_code error;
  for (fs::directory_iterator it(dir_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (!IsSha256(name)) continue;
    const auto record = ReadRecord(it->path());
    std::error_code gone;
    if (record) {
      entries_[name] = {record->bytes, fs::last_write_time(it->path() / kRecord, gone)};
      continue;
    }
    spdlog::warn("cache {}: the entry {} is damaged and is removed: {}", dir_.string(), name, record.error().message);
    fs::remove_all(it->path(), gone);
  }
}

void Cache::SetWanted(std::set<std::string> wanted) {
  const std::lock_guard lock(mutex_);
  for (const auto& [sha256, entry] : entries_) {
    if (wanted.contains(sha256) != wanted_.contains(sha256)) Touch(sha256);
  }
  wanted_ = std::move(wanted);
  std::error_code error;
  for (fs::directory_iterator it(dir_ / kStaging, error), end; !error && it != end; it.increment(error)) {
    const std::string sha256 = it->path().stem();
    // If a thread is still fetching the archive, that thread removes the download when it notices the cancellation.
    if (it->path().extension() != kPart || wanted_.contains(sha256) || reserved_.contains(sha256)) continue;
    std::error_code ignored;
    fs::remove(it->path(), ignored);
  }
}

void Cache::Touch(const std::string& sha256) {
  std::error_code ignored;
  auto& used = entries_.at(sha256).used;
  used = fs::file_time_type::clock::now();
  fs::last_write_time(dir_ / sha256 / kRecord, used, ignored);
}

bool Cache::Has(const std::string& sha256) const {
  const std::lock_guard lock(mutex_);
  return entries_.contains(sha256);
}

Result<Path> Cache::Verify(const std::string& sha256) {
  if (!Has(sha256)) return NotFound("the archive {} is not in the cache {}", sha256, dir_.string());
  const Path entry = dir_ / sha256;
  const auto record = ReadRecord(entry);
  const auto digest = version_files::VersionDigest(entry / kFiles);
  if (record && digest && record->digest == *digest) return FolderOfVersions(entry / kFiles);
  const std::string why = !record   ? record.error().message
                          : !digest ? digest.error().message
                                    : "the files have changed";
  const std::lock_guard lock(mutex_);
  Remove(sha256);
  return DataLoss("cache {}: the entry {} is damaged and was removed: {}", dir_.string(), sha256, why);
}

Path Cache::PartOf(const std::string& sha256) const { return dir_ / kStaging / (sha256 + kPart); }

Path Cache::FilesBeingUnpacked(const std::string& sha256) const {
  std::error_code error;
  fs::remove_all(dir_ / kStaging / sha256, error);
  fs::create_directories(dir_ / kStaging / sha256 / kFiles, error);
  return dir_ / kStaging / sha256 / kFiles;
}

int64_t Cache::HeldBytes(const std::string& except) const {
  int64_t bytes = 0;
  for (const auto& [sha256, entry] : entries_) bytes += entry.bytes;
  for (const auto& [sha256, reserved] : reserved_) bytes += sha256 == except ? 0 : reserved;
  return bytes;
}

Status Cache::Reserve(const std::string& sha256, int64_t bytes, int64_t there) {
  const std::lock_guard lock(mutex_);
  while (HeldBytes(sha256) + bytes > bytes_max_) {
    if (EvictOne(sha256)) continue;
    return ResourceExhausted("{} bytes do not fit into the cache {}: its limit is {}, and archives in use take {}",
                             bytes, dir_.string(), bytes_max_, HeldBytes(sha256));
  }
  for (;;) {
    ASSIGN_OR_RETURN(const int64_t free, FreeOnDisk(dir_));
    if (bytes - there <= free) break;
    if (EvictOne(sha256)) continue;
    return ResourceExhausted("the disk of the cache {} is full: {} bytes are free, but {} are needed", dir_.string(),
                             free, bytes - there);
  }
  reserved_[sha256] = bytes;
  return {};
}

bool Cache::EvictOne(const std::string& except) {
  auto oldest = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->first == except || wanted_.contains(entry->first)) continue;
    if (oldest == entries_.end() || entry->second.used < oldest->second.used) oldest = entry;
  }
  if (oldest == entries_.end()) return false;
  spdlog::info("cache {}: evicting {} ({} bytes)", dir_.string(), oldest->first, oldest->second.bytes);
  Remove(std::string(oldest->first));
  return true;
}

// Renames the entry before it is deleted, so that a crash cannot leave an incomplete entry.
void Cache::Remove(const std::string& sha256) {
  const Path leaving = dir_ / kStaging / (sha256 + ".gone");
  std::error_code error;
  fs::rename(dir_ / sha256, leaving, error);
  if (!error) fs::remove_all(leaving, error);
  if (error) spdlog::warn("cache {}: cannot remove {}: {}", dir_.string(), sha256, error.message());
  entries_.erase(sha256);
}

Result<Path> Cache::Commit(const std::string& sha256) {
  const Path made = dir_ / kStaging / sha256;
  ASSIGN_OR_RETURN(const Path folder, FolderOfVersions(made / kFiles));
  ASSIGN_OR_RETURN(const std::string digest, version_files::VersionDigest(made / kFiles));
  const int64_t bytes = SizeOf(made);
  RETURN_IF_ERROR(WriteFileAtomically(made / kRecord, Json{{"digest", digest}, {"bytes", bytes}}.dump()));
  RETURN_IF_ERROR(Flush(made));
  const std::lock_guard lock(mutex_);
  std::error_code error;
  fs::rename(made, dir_ / sha256, error);
  if (error) return Unavailable("cannot rename {}: {}", made.string(), error.message());
  RETURN_IF_ERROR(Flush(dir_));
  fs::remove(PartOf(sha256), error);
  reserved_.erase(sha256);
  entries_[sha256] = {bytes, fs::file_time_type::clock::now()};
  return dir_ / sha256 / folder.lexically_relative(made);
}

void Cache::Abandon(const std::string& sha256, bool keep_part) {
  const std::lock_guard lock(mutex_);
  std::error_code ignored;
  fs::remove_all(dir_ / kStaging / sha256, ignored);
  if (!keep_part || !wanted_.contains(sha256)) fs::remove(PartOf(sha256), ignored);
  reserved_.erase(sha256);
}

int64_t Cache::bytes() const {
  const std::lock_guard lock(mutex_);
  return HeldBytes("");
}

size_t Cache::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace longshore::sources
