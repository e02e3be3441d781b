// What was fetched and verified, on the disk of this node, by the SHA-256 of its archive:
//
//   DIR/SHA256/files/...           an entry: the unpacked archive; there as a whole or not at all
//   DIR/SHA256/record.json         digest of the files, their bytes; its time is when the entry was last used
//   DIR/staging/SHA256.part        an archive, as far as it came
//   DIR/staging/SHA256/            being unpacked
//
// Names of another form are left alone. One process at a time has a folder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "common/error.h"
#include "common/file.h"
#include "common/process/descriptors.h"

namespace longshore::sources {

// Thread-safe; each SHA-256 is worked on by one thread at a time.
class Cache {
 public:
  // Makes the folder where there is none, and removes what an earlier process left half-made; parts of archives stay.
  // FailedPrecondition when the folder cannot be made or another process has it. bytes_max > 0.
  static Result<std::unique_ptr<Cache>> Open(const Path& dir, int64_t bytes_max);

  // What must stay; everything else may be evicted, and parts of archives that nobody wants are removed at once. What
  // comes or goes by this counts as used now.
  void SetWanted(std::set<std::string> wanted);

  bool Has(const std::string& sha256) const;
  // Reads all files of an entry: the folder that holds its versions. DataLoss when they are not what was unpacked; the
  // entry is removed then. NotFound without an entry.
  Result<Path> Verify(const std::string& sha256);

  // Where an archive and its files are made.
  Path PartOf(const std::string& sha256) const;
  Path FilesBeingUnpacked(const std::string& sha256) const;  // Empties it.
  // Sees to it that `bytes` may lie on the disk in all for this archive, `there` of which lie there already: evicts
  // what nobody wants, least recently used first. ResourceExhausted when the cache's limit or the disk still has no
  // room.
  Status Reserve(const std::string& sha256, int64_t bytes, int64_t there);
  // What was unpacked becomes an entry, in one step, and its part goes: the folder that holds its versions.
  // InvalidArgument when there is none.
  Result<Path> Commit(const std::string& sha256);
  // Forgets the reservation. What was unpacked goes; the part too, unless it is kept to go on with.
  void Abandon(const std::string& sha256, bool keep_part);

  int64_t bytes() const;  // Of all entries.
  size_t entries() const;

 private:
  struct Entry {
    int64_t bytes = 0;  // SizeOnDisk of its files.
    std::filesystem::file_time_type used;
  };

  Cache(Path dir, int64_t bytes_max) : dir_(std::move(dir)), bytes_max_(bytes_max) {}
  Status Lock();
  void ReadEntries();
  void ClearStaging();
  int64_t Held(const std::string& but) const;
  bool EvictOne(const std::string& but);
  void Remove(const std::string& sha256);
  void Touch(const std::string& sha256);

  const Path dir_;
  const int64_t bytes_max_;
  process::Descriptor lock_;
  mutable std::mutex mutex_;  // Guards what follows, and what is renamed or removed.
  std::set<std::string> wanted_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, int64_t> reserved_;
};

// "0123...": 64 of 0-9 a-f.
bool IsSha256(std::string_view text);

}  // namespace longshore::sources
