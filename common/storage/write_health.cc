#include "common/storage/write_health.h"

#include "common/os/log.h"

namespace longshore::storage {

void WriteHealth::Report(const Status& written, const std::string& item) {
  const std::lock_guard lock(mutex_);
  const bool was_good = problems_.empty();
  if (written) {
    problems_.erase(item);
    if (!was_good && problems_.empty()) spdlog::info("{}: can be written again", what_);
    return;
  }
  problems_[item] = written.error().message;
  if (was_good) spdlog::error("{}: cannot be written at the moment: {}", what_, written.error().message);
}

std::map<std::string, std::string> WriteHealth::Problems() const {
  const std::lock_guard lock(mutex_);
  return problems_;
}

}  // namespace longshore::storage
