// TFRecord files in bounded number and size: <prefix>-000001.tfrecord, <prefix>-000002.tfrecord and so on. Whole
// records only, so each file can be read at any time.
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
  // Nothing is touched before the first record. Files that are there already count, and are continued by the next.
  RecordFiles(Path prefix, RecordFileLimits limits) : prefix_(std::move(prefix)), limits_(limits) {}

  // Adds one record. ResourceExhausted for a full disk and for a record larger than a file may be, Unavailable for
  // anything else that the file system says; the files are as before then.
  Status Append(std::string_view payload);

 private:
  Status Begin();
  void Prune() const;
  Status Write(std::string_view record);
  Path PathOf(int64_t number) const;
  std::vector<int64_t> Numbers() const;  // Of the files that are there, rising.

  const Path prefix_;
  const RecordFileLimits limits_;
  process::Descriptor file_;  // Invalid: the next record begins a file.
  size_t bytes_ = 0;
  size_t records_ = 0;
};

}  // namespace longshore::requestlog
