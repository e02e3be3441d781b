#include "serving-node/golden_files/draft.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/os/file.h"
#include "serving-node/saved_model/tfrecord.h"

namespace longshore::golden_files {

Result<Draft> Draft::Open(Path file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) return InvalidArgument("--out: {} is a folder", file.string());
  const Path folder = file.has_parent_path() ? file.parent_path() : Path(".");
  if (access(folder.c_str(), W_OK | X_OK) == 0) return Draft(std::move(file));
  return InvalidArgument("--out: cannot write to folder {}: {}", folder.string(), strerror(errno));
}

Status Draft::Add(golden_set::Record record) {
  if (records_ == golden_set::kRecordsMax)
    return ResourceExhausted("a golden set may have at most {} records", golden_set::kRecordsMax);
  record.request.outputs.clear();
  for (const auto& [name, _] : record.expected) record.request.outputs.push_back(name);
  bytes_ += saved_model::EncodeTfRecord(golden_set::LogOf(record).SerializeAsString());
  if (bytes_.size() > kFileBytesMax)
    return ResourceExhausted("{} would have more than {} bytes", file_.string(), kFileBytesMax);
  ++records_;
  return {};
}

Status Draft::Write() const {
  if (records_ == 0) return FailedPrecondition("{} is not written, because it would have no records", file_.string());
  return WriteFileAtomically(file_, bytes_);
}

}  // namespace longshore::golden_files
