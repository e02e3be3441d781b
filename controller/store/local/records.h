// The records of a local store: one JSON file per object, replaced as a whole, so that readers need no lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/file.h"
#include "common/process/descriptors.h"
#include "controller/store/store.h"

namespace longshore::store {

// Tells whether a record changed without reading it: every write makes a new file.
struct RecordStamp {
  uint64_t inode = 0;
  int64_t changed_ns = 0;

  friend bool operator==(const RecordStamp&, const RecordStamp&) = default;
};

class Records {
 public:
  Records(Path dir, size_t object_bytes_max) : dir_(std::move(dir)), object_bytes_max_(object_bytes_max) {}

  Path PathOf(const api::Key& key) const;
  Result<Object> Read(const api::Key& key) const;
  // ResourceExhausted when the object is larger than the limit, or when the disk is full.
  Status Write(const Object& object) const;
  Status Remove(const api::Key& key) const;

  // Every record there is, in the order of the keys.
  std::map<api::Key, RecordStamp> All() const;
  // Of one kind, in the order of namespace and name.
  std::vector<api::Key> Keys(const std::string& kind) const;

 private:
  Path dir_;
  size_t object_bytes_max_;
};

// The number of a resource version; records count their writes, beginning at 1. Every record that was read has one.
std::optional<int64_t> VersionNumber(const std::string& resource_version);

// Held while a write reads, compares and replaces; between processes too. Blocks.
Result<process::Descriptor> LockFile(const Path& path);

}  // namespace longshore::store
