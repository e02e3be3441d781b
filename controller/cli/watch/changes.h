// Waits for objects to change.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "common/base/error.h"
#include "controller/store/store.h"

namespace longshore::cli::watch {

// Wakes up its caller when an object that the caller has selected may have changed. The first wait returns immediately,
// because every existing object counts as changed.
class Changes {
 public:
  static Result<std::unique_ptr<Changes>> Watch(store::Store& store, std::function<bool(const api::Key&)> is_watched);

  void Wait();
  // Returns false if nothing changed until the deadline.
  bool WaitUntil(std::chrono::steady_clock::time_point deadline);

 private:
  void Notice();

  std::mutex mutex_;
  std::condition_variable noticed_;
  bool changed_ = true;
  std::unique_ptr<store::Watch> watch_;  // Last, so that it is destroyed before the members that its callback uses.
};

}  // namespace longshore::cli::watch
