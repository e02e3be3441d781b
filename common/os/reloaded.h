// A value that is read from files, and read again while the program runs.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "common/base/error.h"
#include "common/os/log.h"
#include "common/os/ticker.h"

namespace longshore {

// Thread-safe. If the files cannot be read or are not valid, logs the error and keeps the old value.
//
//   ASSIGN_OR_RETURN(auto tokens, Reloaded<Tokens>::Start("--auth_tokens_file", [path] { return ReadTokens(path); }));
//   if (tokens->current()->Admit(token)) ...
template <typename T>
class Reloaded {
 public:
  using Read = std::function<Result<T>()>;

  // The first read must succeed. Afterwards a separate thread reads once per interval; with an interval of 0, nothing
  // is read again. T must have operator==.
  static Result<std::shared_ptr<Reloaded>> Start(std::string what, Read read, std::chrono::milliseconds interval) {
    ASSIGN_OR_RETURN(T first, read());
    auto reloaded = std::make_shared<Reloaded>(std::move(what), std::move(read), std::move(first));
    if (interval.count() > 0) reloaded->ticker_.emplace(interval, [raw = reloaded.get()] { raw->Reload(); });
    return reloaded;
  }
  Reloaded(std::string what, Read read, T first)
      : what_(std::move(what)), read_(std::move(read)), current_(std::make_shared<const T>(std::move(first))) {}

  // Never null. The pointer changes exactly when the value changes.
  std::shared_ptr<const T> current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

  // Reads the files now. Must be called by one thread at a time: the ticker's, or a test's if the interval is 0.
  void Reload() {
    auto next = read_();
    if (!next) {
      if (std::exchange(last_error_, next.error().message) == next.error().message) return;
      return spdlog::error("cannot reload {}, the old value stays in use: {}", what_, next.error().message);
    }
    last_error_.clear();
    if (*next == *current()) return;
    auto changed = std::make_shared<const T>(std::move(*next));
    {
      const std::lock_guard lock(mutex_);
      std::swap(current_, changed);
    }
    spdlog::info("{} has changed and was reloaded", what_);
  }

 private:
  const std::string what_;
  const Read read_;
  std::string last_error_;  // The error that was logged last; empty after a successful read.
  mutable std::mutex mutex_;
  std::shared_ptr<const T> current_;  // Guarded by the mutex.
  std::optional<Ticker> ticker_;      // The last member, because it uses the others.
};

}  // namespace longshore
