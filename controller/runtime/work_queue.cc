#include "controller/runtime/work_queue.h"

#include <algorithm>

namespace longshore::runtime {

using std::chrono::steady_clock;

void WorkQueue::Add(const api::Key& key, std::chrono::microseconds after) {
  const std::scoped_lock lock(mutex_);
  const Time at = steady_clock::now() + after;
  const auto [waiting, added] = due_.emplace(key, at);
  if (!added && waiting->second <= at) return;
  if (!added) by_time_.erase({waiting->second, key});
  waiting->second = at;
  by_time_.emplace(at, key);
  changed_.notify_one();
}

void WorkQueue::AddAfterFailure(const api::Key& key) {
  constexpr int kDoublingsMax = 16;
  int failures = 0;
  {
    const std::scoped_lock lock(mutex_);
    failures = std::min(failures_[key]++, kDoublingsMax);
  }
  Add(key, std::min(options_.backoff_max, options_.backoff_min * (1 << failures)));
}

void WorkQueue::Succeeded(const api::Key& key) {
  const std::scoped_lock lock(mutex_);
  failures_.erase(key);
}

std::optional<api::Key> WorkQueue::Take(std::chrono::milliseconds wait_max) {
  std::unique_lock lock(mutex_);
  const Time until = steady_clock::now() + wait_max;
  while (!stopped_ && !nudged_) {
    const Time now = steady_clock::now();
    if (!by_time_.empty() && by_time_.begin()->first <= now) {
      api::Key key = by_time_.begin()->second;
      due_.erase(key);
      by_time_.erase(by_time_.begin());
      return key;
    }
    if (now >= until) return std::nullopt;
    Time next = until;  // A copy, because the entry of the first key may be removed during the wait.
    if (!by_time_.empty()) next = std::min(next, by_time_.begin()->first);
    changed_.wait_until(lock, next);
  }
  nudged_ = false;
  return std::nullopt;
}

void WorkQueue::Nudge() {
  const std::scoped_lock lock(mutex_);
  nudged_ = true;
  changed_.notify_all();
}

bool WorkQueue::is_stopped() const {
  const std::scoped_lock lock(mutex_);
  return stopped_;
}

void WorkQueue::Stop() {
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace longshore::runtime
