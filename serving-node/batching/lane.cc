#include "serving-node/batching/lane.h"

#include <algorithm>

namespace longshore::batching {

TimePoint Lane::ReadyAt(const Task& task) const {
  const TimePoint full_delay = task.submitted + options_.max_delay;
  // Waiting for company must not be what makes a request miss its deadline.
  const bool waits = delaying_ && !task.key.empty() && task.terms.deadline - task.least_run > full_delay;
  return waits ? full_delay : task.submitted;
}

bool Lane::IsFull(const std::string& key, const Group& group) const {
  return key.empty() || group.rows >= options_.max_batch_size;
}

void Lane::Refresh(const std::string& key, Group* group) const {
  group->ready_at = TimePoint::max();
  if (IsFull(key, *group)) {
    group->ready_at = group->tasks.begin()->second.submitted;
    return;  // However many wait.
  }
  for (const auto& [rank, task] : group->tasks) group->ready_at = std::min(group->ready_at, ReadyAt(task));
}

bool Lane::HasRoom(const std::string& key, int64_t rows, size_t requests) const {
  if (size_ + requests > static_cast<size_t>(std::max(options_.queue_max, 0))) return false;
  if (key.empty() || options_.queue_batches_max == 0) return true;
  const auto group = groups_.find(key);
  const int64_t waiting = group == groups_.end() ? 0 : group->second.rows;
  return waiting + rows <= int64_t{options_.queue_batches_max} * options_.max_batch_size;
}

std::optional<Task> Lane::MakeRoom(const Task& task) {
  const bool too_many = size_ >= static_cast<size_t>(std::max(options_.queue_max, 0));
  auto lowest = groups_.end();
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    if (!too_many && group->first != task.key) continue;
    if (lowest == groups_.end() || group->second.tasks.rbegin()->first > lowest->second.tasks.rbegin()->first)
      lowest = group;
  }
  if (lowest == groups_.end()) return std::nullopt;
  const auto last = std::prev(lowest->second.tasks.end());
  const bool yields = last->second.terms.priority < task.terms.priority && last->second.rows >= task.rows;
  if (!yields || (too_many && lowest->first != task.key && options_.queue_batches_max != 0)) return std::nullopt;
  return Extract(lowest, last);
}

int64_t Lane::BatchesWaiting(const std::string& key) const {
  const auto group = groups_.find(key);
  if (group == groups_.end()) return 0;
  return key.empty() ? static_cast<int64_t>(group->second.tasks.size()) : group->second.rows / options_.max_batch_size;
}

void Lane::Push(Task task) {
  const auto found = groups_.try_emplace(task.key).first;
  Group& group = found->second;
  group.rows += task.rows;
  group.ready_at = std::min(group.ready_at, ReadyAt(task));
  if (IsFull(task.key, group)) group.ready_at = std::min(group.ready_at, task.submitted);
  const Rank rank = task.rank();
  group.tasks.emplace_hint(group.tasks.end(), rank, std::move(task));
  ++size_;
}

void Lane::PushBatch(Batch batch) {
  size_ += batch.size();
  again_.push_back(std::move(batch));
}

std::optional<TimePoint> Lane::ReadyAt() const {
  if (!again_.empty()) return TimePoint::min();
  std::optional<TimePoint> earliest;
  for (const auto& [key, group] : groups_) earliest = std::min(earliest.value_or(TimePoint::max()), group.ready_at);
  return earliest;
}

Batch Lane::Take(TimePoint now) {
  Batch batch;
  if (!again_.empty()) {
    batch = std::move(again_.front());
    again_.pop_front();
    size_ -= batch.size();
    return batch;
  }
  auto first = groups_.end();
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    if (group->second.ready_at > now) continue;
    if (first == groups_.end() || group->second.tasks.begin()->first < first->second.tasks.begin()->first)
      first = group;
  }
  CHECK(first != groups_.end());
  Group& group = first->second;
  const size_t tasks_max = first->first.empty() ? 1 : group.tasks.size();
  int64_t rows = 0;
  while (!group.tasks.empty() && batch.size() < tasks_max) {
    rows += group.tasks.begin()->second.rows;
    if (!batch.empty() && rows > options_.max_batch_size) break;
    group.rows -= group.tasks.begin()->second.rows;
    batch.push_back(std::move(group.tasks.begin()->second));
    group.tasks.erase(group.tasks.begin());
  }
  size_ -= batch.size();
  if (group.tasks.empty()) {
    groups_.erase(first);
  } else {
    Refresh(first->first, &group);
  }
  return batch;
}

Task Lane::Extract(Groups::iterator group, std::map<Rank, Task>::iterator task) {
  Task taken = std::move(task->second);
  group->second.tasks.erase(task);
  group->second.rows -= taken.rows;
  --size_;
  if (group->second.tasks.empty()) {
    groups_.erase(group);
  } else {
    Refresh(group->first, &group->second);
  }
  return taken;
}

std::optional<Task> Lane::Remove(const std::string& key, const Rank& rank) {
  const auto group = groups_.find(key);
  if (group == groups_.end()) return std::nullopt;
  const auto task = group->second.tasks.find(rank);
  if (task == group->second.tasks.end()) return std::nullopt;
  return Extract(group, task);
}

std::vector<Task> Lane::TakeExpired(TimePoint now) {
  std::vector<Task> expired;
  for (auto group = groups_.begin(); group != groups_.end();) {
    auto& [key, waiting] = *group;
    for (auto task = waiting.tasks.begin(); task != waiting.tasks.end();) {
      const bool late = task->second.terms.deadline <= now;
      if (late) {
        waiting.rows -= task->second.rows;
        expired.push_back(std::move(task->second));
      }
      task = late ? waiting.tasks.erase(task) : std::next(task);
    }
    if (waiting.tasks.empty()) {
      group = groups_.erase(group);
    } else {
      Refresh(key, &waiting);
      ++group;
    }
  }
  size_ -= expired.size();
  return expired;
}

TimePoint Lane::earliest_deadline() const {
  TimePoint earliest = TimePoint::max();
  for (const auto& [key, group] : groups_) {
    for (const auto& [rank, task] : group.tasks) earliest = std::min(earliest, task.terms.deadline);
  }
  return earliest;
}

void Lane::StopDelaying() {
  delaying_ = false;
  for (auto& [key, group] : groups_) Refresh(key, &group);
}

}  // namespace longshore::batching
