#include "common/storage/write_health.h"

#include "common/os/log.h"

namespace longshore::storage {

std::string WithItem(const std::string& item, const std::string& message) {
  return item.empty() ? message : item + ": " + message;
}

void WriteHealth::Report(const Status& written, const std::string& item) {
  const std::lock_guard lock(mutex_);
  const bool was_good = !problems_.contains(item);
  if (written) {
    problems_.erase(item);
    if (!was_good) spdlog::info("{}", WithItem(what_, WithItem(item, "can be written again")));
    return;
  }
  problems_[item] = written.error().message;
  if (was_good) spdlog::error("{}: cannot be written at the moment: {}", what_, WithItem(item, problems_[item]));
}

std::map<std::string, std::string> WriteHealth::Problems() const {
  const std::lock_guard lock(mutex_);
  return problems_;
}

}  // namespace longshore::storage
