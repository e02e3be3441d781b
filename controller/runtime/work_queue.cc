#include "controller/runtime/work_queue.h"

#include <algorithm>

namespace longshore::runtime {

using std::chrono::steady_clock;

void WorkQueue::Add(const api::Key& key, std::chrono::microseconds after) {
  const std::scoped_lock lock(mutex_);
  const Time at = steady_clock::now() + after;
  const auto [waiting, added] = due_.emplace(key, at);
  if (!added && waiting->second <= at) return;
  waiting->second = at;
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
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    const auto first =
        std::min_element(due_.begin(), due_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (first == due_.end()) {
      changed_.wait(lock);
    } else if (const Time at = first->second; at > steady_clock::now()) {
      changed_.wait_until(lock, at);
    } else {
      const api::Key key = first->first;
      due_.erase(first);
      return key;
    }
  }
  return std::nullopt;
}

void WorkQueue::Stop() {
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace longshore::runtime
