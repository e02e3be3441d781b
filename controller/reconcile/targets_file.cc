#include "controller/reconcile/targets_file.h"

#include <filesystem>

#include "common/os/file.h"

namespace longshore::reconcile {

void TargetsFile::Set(const std::string& text) {
  const std::lock_guard lock(mutex_);
  text_ = text;
  if (text_ != written_ || !health_.Problems().empty()) Write();
}

void TargetsFile::WriteAgain() {
  const std::lock_guard lock(mutex_);
  Write();
}

// If the folder cannot be created, the error of writing the file says so.
void TargetsFile::Write() {
  std::error_code ignored;
  std::filesystem::create_directories(path_.parent_path(), ignored);
  const Status written = WriteFileAtomically(path_, text_);
  if (written) written_ = text_;
  health_.Report(written);
}

}  // namespace longshore::reconcile
