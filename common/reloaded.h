// A value that files hold, read again while the program runs.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "common/error.h"
#include "common/log.h"
#include "common/ticker.h"

namespace longshore {

// Thread-safe. What can no longer be read, or reads as something wrong, is logged, and the old value stays.
//
//   ASSIGN_OR_RETURN(auto tokens, Reloaded<Tokens>::Start("--auth_tokens_file", [path] { return ReadTokens(path); }));
//   if (tokens->current()->Admit(token)) ...
template <typename T>
class Reloaded {
 public:
  using Read = std::function<Result<T>()>;

  // The first read must succeed. Then one per interval, on a thread of its own; 0: no other. T has operator==.
  static Result<std::shared_ptr<Reloaded>> Start(std::string what, Read read, std::chrono::milliseconds interval) {
    ASSIGN_OR_RETURN(T first, read());
    auto reloaded = std::make_shared<Reloaded>(std::move(what), std::move(read), std::move(first));
    if (interval.count() > 0) reloaded->ticker_.emplace(interval, [raw = reloaded.get()] { raw->Look(); });
    return reloaded;
  }
  Reloaded(std::string what, Read read, T first)
      : what_(std::move(what)), read_(std::move(read)), current_(std::make_shared<const T>(std::move(first))) {}

  // Never null. Another pointer whenever the value is another one.
  std::shared_ptr<const T> current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

  // Reads now. One thread at a time: the ticker's, or a test's where there is none.
  void Look() {
    auto next = read_();
    if (!next) {
      if (std::exchange(trouble_, next.error().message) == next.error().message) return;
      return spdlog::error("{} is not read again, the old one stays: {}", what_, next.error().message);
    }
    trouble_.clear();
    if (*next == *current()) return;
    auto changed = std::make_shared<const T>(std::move(*next));
    {
      const std::lock_guard lock(mutex_);
      std::swap(current_, changed);
    }
    spdlog::info("{} is new from now on", what_);
  }

 private:
  const std::string what_;
  const Read read_;
  std::string trouble_;  // What was logged last.
  mutable std::mutex mutex_;
  std::shared_ptr<const T> current_;  // Guarded by the mutex.
  std::optional<Ticker> ticker_;      // Last: it uses the rest.
};

}  // namespace longshore
