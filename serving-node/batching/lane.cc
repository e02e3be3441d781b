#include "serving-node/batching/lane.h"

#include <algorithm>

namespace longshore::batching {

TimePoint Lane::ReadyAt(const Task& task) const {
  const TimePoint full_delay = task.submitted + options_.max_delay;
  // Waiting for company must not be what makes a request miss its deadline.
  const bool waits = delaying_ && !task.key.empty() && task.deadline > full_delay;
  return waits ? full_delay : task.submitted;
}

void Lane::Refresh(const std::string& key, Group* group) const {
  group->rows = 0;
  group->ready_at = TimePoint::max();
  for (const Task& task : group->tasks) {
    group->rows += task.rows;
    group->ready_at = std::min(group->ready_at, ReadyAt(task));
  }
  if (!key.empty() && group->rows >= options_.max_batch_size) {
    group->ready_at = std::min(group->ready_at, group->tasks.front().submitted);
  }
}

bool Lane::HasRoom(const Task& task) const {
  if (size_ >= static_cast<size_t>(std::max(options_.queue_max, 0))) return false;
  if (task.key.empty() || options_.queue_batches_max == 0) return true;
  const auto group = groups_.find(task.key);
  const int64_t rows = task.rows + (group == groups_.end() ? 0 : group->second.rows);
  return rows <= int64_t{options_.queue_batches_max} * options_.max_batch_size;
}

void Lane::Push(Task task) {
  const std::string key = task.key;
  Group& group = groups_[key];
  group.rows += task.rows;
  group.ready_at = std::min(group.ready_at, ReadyAt(task));
  group.tasks.push_back(std::move(task));
  if (!key.empty() && group.rows >= options_.max_batch_size) {
    group.ready_at = std::min(group.ready_at, group.tasks.front().submitted);
  }
  ++size_;
}

void Lane::PushFirst(Task task) {
  const std::string key = task.key;
  Group& group = groups_[key];
  group.tasks.push_front(std::move(task));
  Refresh(key, &group);
  ++size_;
}

std::optional<TimePoint> Lane::ReadyAt() const {
  std::optional<TimePoint> earliest;
  for (const auto& [key, group] : groups_) earliest = std::min(earliest.value_or(TimePoint::max()), group.ready_at);
  return earliest;
}

Batch Lane::Take(TimePoint now) {
  const auto oldest = std::min_element(groups_.begin(), groups_.end(), [](const auto& a, const auto& b) {
    return a.second.ready_at < b.second.ready_at;
  });
  CHECK(oldest != groups_.end() && oldest->second.ready_at <= now);
  Group& group = oldest->second;
  const size_t tasks_max = oldest->first.empty() ? 1 : group.tasks.size();
  Batch batch;
  int64_t rows = 0;
  while (!group.tasks.empty() && batch.size() < tasks_max) {
    rows += group.tasks.front().rows;
    if (!batch.empty() && rows > options_.max_batch_size) break;
    batch.push_back(std::move(group.tasks.front()));
    group.tasks.pop_front();
  }
  size_ -= batch.size();
  if (group.tasks.empty()) {
    groups_.erase(oldest);
  } else if (oldest->first.empty()) {
    group.ready_at =
        group.tasks.front().submitted;  // Alone: the order is that of submission, and a rescan would be long.
  } else {
    Refresh(oldest->first, &group);
  }
  return batch;
}

std::vector<Task> Lane::TakeExpired(TimePoint now) {
  std::vector<Task> expired;
  for (auto it = groups_.begin(); it != groups_.end();) {
    std::deque<Task> kept;
    for (Task& task : it->second.tasks) {
      if (task.deadline <= now) {
        expired.push_back(std::move(task));
      } else {
        kept.push_back(std::move(task));
      }
    }
    it->second.tasks = std::move(kept);
    Refresh(it->first, &it->second);
    it = it->second.tasks.empty() ? groups_.erase(it) : std::next(it);
  }
  size_ -= expired.size();
  return expired;
}

TimePoint Lane::earliest_deadline() const {
  TimePoint earliest = TimePoint::max();
  for (const auto& [key, group] : groups_) {
    for (const Task& task : group.tasks) earliest = std::min(earliest, task.deadline);
  }
  return earliest;
}

void Lane::StopDelaying() {
  delaying_ = false;
  for (auto& [key, group] : groups_) Refresh(key, &group);
}

}  // namespace longshore::batching
