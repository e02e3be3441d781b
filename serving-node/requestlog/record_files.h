// TFRecord files in bounded number and size: <prefix>-<owner>-000001.tfrecord, <prefix>-<owner>-000002.tfrecord and so
// on. Whole records only, so each file can be read at any time.
//
// Nodes may share a prefix: each writes, counts and removes only files of its own name. Of several of one name on a
// host the second one is <owner>.2, by the lock on <prefix>-<owner>.lock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "common/file.h"
#include "common/process/descriptors.h"

namespace longshore::requestlog {

struct RecordFileLimits {
  size_t file_bytes_max = size_t{64} << 20;
  size_t file_records_max = 1000;  // As many as TensorFlow Serving takes for a warm-up.
  size_t files_max = 10;           // The oldest goes when another one begins.
};

// Belongs to one thread.
class RecordFiles {
 public:
  static constexpr int kSameNameMax = 16;

  // Nothing is touched before the first record. Own files that are there already count, and the newest one is continued
  // where it is not full: behind its last whole record.
  RecordFiles(Path prefix, const std::string& owner, RecordFileLimits limits);

  // Adds one record. ResourceExhausted for a full disk and for a record larger than a file may be, Unavailable for
  // anything else that the file system says; the files are as before then.
  Status Append(std::string_view payload);

 private:
  Status Open(size_t record_bytes);
  Status Own();
  Status Continue();
  Status Begin();
  bool HasRoom(size_t record_bytes) const;
  void Prune() const;
  Status Write(std::string_view record);
  Path PathOf(int64_t number) const;
  std::vector<int64_t> Numbers() const;  // Of the files that are there, rising.

  const Path named_;  // The prefix with the owner's name.
  const RecordFileLimits limits_;
  Path own_;                  // The same, or with a number where another one has that name.
  process::Descriptor lock_;  // On own_. Invalid: no record came yet.
  process::Descriptor file_;  // Invalid: the next record begins a file.
  size_t bytes_ = 0;
  size_t records_ = 0;
};

}  // namespace longshore::requestlog
