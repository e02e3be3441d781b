// The cache of fetched and verified archives on the disk of this node, by the SHA-256 of the archive:
//
//   DIR/SHA256/files/...           an entry: the unpacked archive; it exists completely or not at all
//   DIR/SHA256/record.json         digest and bytes of the files; its modification time is the last use of the entry
//   DIR/staging/SHA256.part        a downloaded archive, possibly incomplete
//   DIR/staging/SHA256/            an archive that is being unpacked
//
// Files with other names are not touched. Only one process at a time may use the folder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/os/process/descriptors.h"

namespace longshore::sources {

// Thread-safe, if only one thread at a time works on each SHA-256.
class Cache {
 public:
  // Creates the folder if needed and removes what an earlier process left unfinished, except for partial downloads.
  // FailedPrecondition if the folder cannot be created or another process uses it. Requires: bytes_max > 0.
  static Result<std::unique_ptr<Cache>> Open(const Path& dir, int64_t bytes_max);

  // Sets the archives that must stay. All other entries may be evicted, and partial downloads of other archives are
  // removed at once. Entries that become wanted or unwanted count as used now.
  void SetWanted(std::set<std::string> wanted);

  bool Has(const std::string& sha256) const;
  // Reads all files of the entry, checks their digest and returns the folder that holds the versions. DataLoss if the
  // files have changed; the entry is then removed. NotFound if there is no entry.
  Result<Path> Verify(const std::string& sha256);

  // The paths of the download and of the unpacked files before Commit.
  Path PartOf(const std::string& sha256) const;
  Path FilesBeingUnpacked(const std::string& sha256) const;  // Creates the folder, or empties it if it exists.
  // Reserves `bytes` on the disk in total for this archive; `there` bytes of them are already written. Evicts unwanted
  // entries if needed, the least recently used first. ResourceExhausted if the limit of the cache or the disk does not
  // allow it.
  Status Reserve(const std::string& sha256, int64_t bytes, int64_t there);
  // Turns the unpacked files into an entry, atomically, removes the download, and returns the folder that holds the
  // versions. InvalidArgument if the archive contains no version.
  Result<Path> Commit(const std::string& sha256);
  // Drops the reservation and removes the unpacked files and the download. If keep_part is set and the archive is still
  // wanted, keeps the download, so that a later attempt can resume it.
  void Abandon(const std::string& sha256, bool keep_part);

  int64_t bytes() const;  // Bytes on disk of all entries and reservations.
  size_t entries() const;

 private:
  struct Entry {
    int64_t bytes = 0;  // The SizeOnDisk of the entry's files and folders.
    std::filesystem::file_time_type used;
  };

  Cache(Path dir, int64_t bytes_max) : dir_(std::move(dir)), bytes_max_(bytes_max) {}
  Status Lock();
  void ReadEntries();
  void ClearStaging();
  int64_t HeldBytes(const std::string& except) const;
  bool EvictOne(const std::string& except);
  void Remove(const std::string& sha256);
  void Touch(const std::string& sha256);

  const Path dir_;
  const int64_t bytes_max_;
  process::Descriptor lock_;
  mutable std::mutex mutex_;  // Guards the members below, and renaming and removing files.
  std::set<std::string> wanted_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, int64_t> reserved_;
};

// True for 64 characters of 0-9 and a-f.
bool IsSha256(std::string_view text);

}  // namespace longshore::sources
