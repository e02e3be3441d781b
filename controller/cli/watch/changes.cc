#include "controller/cli/watch/changes.h"

#include <utility>

namespace longshore::cli::watch {

Result<std::unique_ptr<Changes>> Changes::Watch(store::Store& store, std::function<bool(const api::Key&)> is_watched) {
  auto changes = std::make_unique<Changes>();
  Changes* const raw = changes.get();
  ASSIGN_OR_RETURN(changes->watch_, store.WatchAll([raw, is_watched = std::move(is_watched)](const api::Key& key) {
    if (is_watched(key)) raw->Notice();
  }));
  return changes;
}

void Changes::Wait() {
  std::unique_lock lock(mutex_);
  noticed_.wait(lock, [this] { return changed_; });
  changed_ = false;
}

bool Changes::WaitUntil(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  const bool noticed = noticed_.wait_until(lock, deadline, [this] { return changed_; });
  changed_ = false;
  return noticed;
}

void Changes::Notice() {
  const std::lock_guard lock(mutex_);
  changed_ = true;
  noticed_.notify_all();
}

}  // namespace longshore::cli::watch
