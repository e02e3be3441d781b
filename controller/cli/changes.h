// Waiting for objects to change.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "common/error.h"
#include "controller/store/store.h"

namespace longshore::cli {

// Wakes up when an object that concerns the caller may have changed. The first wait ends at once: all that is there
// counts as changed.
class Changes {
 public:
  static Result<std::unique_ptr<Changes>> Watch(store::Store& store, std::function<bool(const api::Key&)> concerns);

  void Wait();
  // False when nothing changed before the deadline.
  bool WaitUntil(std::chrono::steady_clock::time_point deadline);

 private:
  void Notice();

  std::mutex mutex_;
  std::condition_variable noticed_;
  bool changed_ = true;
  std::unique_ptr<store::Watch> watch_;  // Last, so that it ends before what it writes to.
};

}  // namespace longshore::cli
