// The records of a local store: one JSON file per object. A write replaces the whole file, so readers need no lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/path.h"
#include "common/os/process/descriptors.h"
#include "controller/store/store.h"

namespace longshore::store::local {

// Identifies the state of a record: every write creates a new file, so a change is visible without reading the record.
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
  // Returns the text of an object's record; ResourceExhausted if it is larger than the limit.
  Result<std::string> TextOf(const Object& object) const;
  // Returns ResourceExhausted if the disk is full.
  Status Write(const api::Key& key, const std::string& text) const;
  Status Remove(const api::Key& key) const;

  // Returns the stamps of all records, in the order of their keys.
  std::map<api::Key, RecordStamp> All() const;
  // Returns the keys of one kind, ordered by namespace and name.
  std::vector<api::Key> Keys(const std::string& kind) const;

 private:
  Path dir_;
  size_t object_bytes_max_;
};

// Parses a resource version, which counts the writes of a record from 1. Returns nullopt if it is not a valid count,
// which does not happen for a record that was read.
std::optional<int64_t> VersionNumber(const std::string& resource_version);

// Locks the file against other threads and processes until the descriptor is closed. Blocks. Writers hold the lock
// while they read, compare and replace a record.
Result<process::Descriptor> LockFile(const Path& path);

}  // namespace longshore::store::local
