// Writes TFRecord files of limited number and size: <prefix>-<owner>-000001.tfrecord, <prefix>-<owner>-000002.tfrecord
// and so on. The files contain only complete records, so each file can be read at any time.
//
// Nodes may share a prefix: each node writes, counts and removes only files with its own name. If several nodes on a
// host have the same name, the lock on <prefix>-<owner>.lock makes the second one use the name <owner>.2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/os/process/descriptors.h"

namespace longshore::requestlog {

struct RecordFileLimits {
  size_t file_bytes_max = size_t{64} << 20;
  size_t file_records_max = 1000;  // TensorFlow Serving's limit for a warm-up file.
  size_t files_max = 10;           // If there are more files, the oldest one is removed.
};

// Not thread-safe.
class RecordFiles {
 public:
  static constexpr int kSameNameMax = 16;

  // Does not access the disk before the first record. Existing files of this owner count towards files_max. The newest
  // one is continued after its last complete record if it is not full.
  RecordFiles(Path prefix, const std::string& owner, RecordFileLimits limits);

  // Adds one record. ResourceExhausted if the disk is full or the record is larger than a file may be; Unavailable for
  // other errors of the file system. After an error the files contain the same records as before.
  Status Append(std::string_view payload);

  // Returns whether a record can be written now: opens the file that Append would use, and tests whether its folder has
  // room. Writes no record.
  Status Try();

 private:
  Status Open(size_t record_bytes);
  Status Own();
  Status Continue();
  Status Begin();
  bool HasRoom(size_t record_bytes) const;
  void Prune() const;
  Status Write(std::string_view record);
  Path PathOf(int64_t number) const;
  std::vector<int64_t> Numbers() const;  // The numbers of the existing files, ascending.

  const Path named_;  // The prefix with the owner's name.
  const RecordFileLimits limits_;
  Path own_;                  // named_, with a number appended if another process uses that name.
  process::Descriptor lock_;  // The lock on own_. Invalid before the first record.
  process::Descriptor file_;  // Invalid: the next record starts a new file.
  size_t bytes_ = 0;
  size_t records_ = 0;
};

}  // namespace longshore::requestlog
