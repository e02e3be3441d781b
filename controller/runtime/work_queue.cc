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

std::optional<api::Key> WorkQueue::Take() {
  std::vector<api::Key> keys = TakeSome(1);
  if (keys.empty()) return std::nullopt;
  return std::move(keys.front());
}

std::vector<api::Key> WorkQueue::TakeSome(size_t keys_max) {
  std::unique_lock lock(mutex_);
  std::vector<api::Key> keys;
  while (!stopped_ && keys.empty()) {
    if (by_time_.empty()) {
      changed_.wait(lock);
    } else if (const Time at = by_time_.begin()->first; at > steady_clock::now()) {
      changed_.wait_until(lock, at);
    }
    const Time now = steady_clock::now();
    while (!stopped_ && keys.size() < keys_max && !by_time_.empty() && by_time_.begin()->first <= now) {
      keys.push_back(by_time_.begin()->second);
      due_.erase(keys.back());
      by_time_.erase(by_time_.begin());
    }
  }
  return keys;
}

void WorkQueue::Stop() {
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace longshore::runtime
