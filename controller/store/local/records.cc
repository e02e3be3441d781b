#include "controller/store/local/records.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>

#include "common/os/file.h"
#include "controller/store/document.h"

namespace longshore::store::local {
namespace {

constexpr const char* kExtension = ".json";

std::vector<Path> Entries(const Path& dir) {
  std::vector<Path> entries;
  std::error_code error;  // A missing folder, or one that is deleted meanwhile, counts as empty.
  for (std::filesystem::directory_iterator at(dir, error), end; !error && at != end; at.increment(error)) {
    entries.push_back(at->path());
  }
  return entries;
}

}  // namespace

Path Records::PathOf(const api::Key& key) const { return dir_ / key.kind / key.namespace_ / (key.name + kExtension); }

Result<Object> Records::Read(const api::Key& key) const {
  RETURN_IF_ERROR(CheckKey(key));
  const auto text = ReadFile(PathOf(key), 2 * object_bytes_max_);
  if (!text && text.error().code == Code::kNotFound) return NotFound("{} does not exist", ToString(key));
  if (!text) return tl::make_unexpected(text.error());
  const Result<Json> document = ParseJson(*text);
  if (!document) return DataLoss("{}: {}", PathOf(key).string(), document.error().message);
  Result<Object> object = FromDocument(*document);
  if (!object) return DataLoss("{}: {}", PathOf(key).string(), object.error().message);
  if (const std::string& version = object->metadata.resource_version; !VersionNumber(version)) {
    return DataLoss("{}: metadata.resourceVersion \"{}\" is not a positive whole number", PathOf(key).string(),
                    version);
  }
  return object;
}

Result<std::string> Records::TextOf(const Object& object) const {
  std::string text = DumpJson(ToDocument(object), 1) + "\n";
  if (text.size() > object_bytes_max_) {
    return ResourceExhausted("{} has {} bytes; the limit is {}", ToString(KeyOf(object)), text.size(),
                             object_bytes_max_);
  }
  return text;
}

Status Records::Write(const api::Key& key, const std::string& text) const {
  const Path path = PathOf(key);
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) return Unavailable("cannot create {}: {}", path.parent_path().string(), error.message());
  return WriteFileAtomically(path, text);
}

Status Records::Remove(const api::Key& key) const {
  if (unlink(PathOf(key).c_str()) == 0 || errno == ENOENT) return {};
  return Unavailable("cannot remove {}: {}", PathOf(key).string(), std::strerror(errno));
}

std::map<api::Key, RecordStamp> Records::All() const {
  std::map<api::Key, RecordStamp> all;
  for (const Path& kind : Entries(dir_)) {
    for (const api::Key& key : Keys(kind.filename())) {
      struct stat info {};
      if (stat(PathOf(key).c_str(), &info) != 0) continue;
      all[key] = {info.st_ino, info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec};
    }
  }
  return all;
}

std::vector<api::Key> Records::Keys(const std::string& kind) const {
  std::vector<api::Key> keys;
  for (const Path& space : Entries(dir_ / kind)) {
    for (const Path& file : Entries(space)) {
      if (file.extension() == kExtension) keys.push_back({kind, space.filename(), file.stem()});
    }
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::optional<int64_t> VersionNumber(const std::string& resource_version) {
  const char* const end = resource_version.data() + resource_version.size();
  int64_t number = 0;
  const auto [at, error] = std::from_chars(resource_version.data(), end, number);
  const bool is_valid = error == std::errc() && at == end && number > 0 && number < std::numeric_limits<int64_t>::max();
  return is_valid ? std::optional(number) : std::nullopt;
}

Result<process::Descriptor> LockFile(const Path& path) {
  process::Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) return Unavailable("cannot open {}: {}", path.string(), std::strerror(errno));
  while (flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return Unavailable("cannot lock {}: {}", path.string(), std::strerror(errno));
  }
  return file;
}

}  // namespace longshore::store::local
