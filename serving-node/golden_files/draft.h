// A golden set that is being made.
#pragma once

#include <string>

#include "common/base/error.h"
#include "common/base/path.h"
#include "serving-node/golden_set/records.h"

namespace longshore::golden_files {

// Not thread-safe.
class Draft {
 public:
  // Returns InvalidArgument if the file cannot be written, so that nobody waits for a golden set that would be lost.
  static Result<Draft> Open(Path file);

  // Adds a record. Its request asks for the known outputs only, so that a later version may have more outputs.
  // ResourceExhausted if a golden set cannot have more records, or the file would be too large.
  Status Add(golden_set::Record record);

  size_t records() const { return records_; }
  const Path& file() const { return file_; }

  // Replaces the file. FailedPrecondition if there is no record; errors as for WriteFileAtomically.
  Status Write() const;

 private:
  explicit Draft(Path file) : file_(std::move(file)) {}

  Path file_;
  std::string bytes_;
  size_t records_ = 0;
};

}  // namespace longshore::golden_files
