#include "serving-node/batching/lane.h"

#include <algorithm>
#include <bit>

#include "serving-node/batching/batch_choice.h"
#include "serving-node/batching/rows.h"

namespace longshore::batching {
namespace {

// A batch is chosen from the first requests of its kind: from as many as are needed for more rows than this many times
// max_batch_size.
constexpr int64_t kBatchesConsidered = 2;

// Whether `a` is displaced before `b`: the lower priority first, then the later rank.
bool YieldsBefore(const Task& a, const Task& b) {
  if (a.terms.priority != b.terms.priority) return a.terms.priority < b.terms.priority;
  return a.rank() > b.rank();
}

}  // namespace

TimePoint Lane::ReadyAt(const Task& task) const {
  const TimePoint full_delay = task.submitted + options_.max_delay;
  // A request must not miss its deadline because it waited for its batch to fill.
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
    return;  // A full batch is ready, even if all its tasks could wait longer.
  }
  for (const auto& [rank, task] : group->tasks) group->ready_at = std::min(group->ready_at, ReadyAt(task));
}

bool Lane::RowsFit(const std::string& key, int64_t rows) const {
  if (key.empty() || options_.queue_batches_max == 0) return true;
  const auto group = groups_.find(key);
  const int64_t waiting = group == groups_.end() ? 0 : group->second.rows;
  return waiting + rows <= int64_t{options_.queue_batches_max} * options_.max_batch_size;
}

bool Lane::HasRoom(const std::string& key, int64_t rows, size_t requests, size_t others) const {
  return size_ + others + requests <= static_cast<size_t>(std::max(options_.queue_max, 0)) && RowsFit(key, rows);
}

std::optional<Task> Lane::RemoveLowest(int priority) {
  Groups::iterator group = groups_.end();
  std::map<Rank, Task>::iterator lowest;
  for (auto at = groups_.begin(); at != groups_.end(); ++at) {
    for (auto one = at->second.tasks.begin(); one != at->second.tasks.end(); ++one) {
      if (one->second.terms.priority >= priority) continue;
      if (group == groups_.end() || YieldsBefore(one->second, lowest->second)) {
        group = at;
        lowest = one;
      }
    }
  }
  if (group == groups_.end()) return std::nullopt;
  Task removed = Remove(group->second, lowest);
  EraseOrRefresh(group);
  return removed;
}

std::optional<Task> Lane::MakeRoom(const Task& task, size_t others) {
  const auto lower = count_by_priority_.begin() + task.terms.priority;
  if (std::all_of(count_by_priority_.begin(), lower, [](size_t tasks) { return tasks == 0; })) return std::nullopt;
  if (size_ + others > static_cast<size_t>(std::max(options_.queue_max, 0))) return std::nullopt;
  const bool too_many = size_ + others == static_cast<size_t>(std::max(options_.queue_max, 0));
  std::optional<std::pair<Groups::iterator, std::map<Rank, Task>::iterator>> found;
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    const bool own = group->first == task.key;
    if (!own && (!too_many || !RowsFit(task.key, task.rows))) continue;
    for (auto one = group->second.tasks.begin(); one != group->second.tasks.end(); ++one) {
      if (one->second.terms.priority >= task.terms.priority) continue;
      if (own && !RowsFit(task.key, task.rows - one->second.rows)) continue;
      if (!found || YieldsBefore(one->second, found->second->second)) found = {group, one};
    }
  }
  if (!found) return std::nullopt;
  Task displaced = Remove(found->first->second, found->second);
  EraseOrRefresh(found->first);
  return displaced;
}

int64_t Lane::RunBytes(const Task& task) const {
  return task.key.empty() ? task.bytes : PaddedBytes(task.rows, task.bytes, options_.allowed_batch_sizes);
}

Duration Lane::WorkBefore(const Task& task, const Forecast& forecast, TimePoint now) const {
  const auto found = groups_.find(task.key);
  if (found == groups_.end()) return Duration(0);
  const Group& group = found->second;
  if (task.key.empty()) return group.likely;
  const int64_t batches = group.rows / options_.max_batch_size;
  if (batches == 0) return Duration(0);
  return batches * forecast.Likely(task.request.signature, group.bytes * options_.max_batch_size / group.rows, now);
}

void Lane::Push(Task task) {
  const auto found = groups_.try_emplace(task.key).first;
  Group& group = found->second;
  group.rows += task.rows;
  group.bytes += task.bytes;
  group.likely += task.likely_run;
  ++count_by_priority_[static_cast<size_t>(task.terms.priority)];
  group.ready_at = std::min(group.ready_at, ReadyAt(task));
  if (IsFull(task.key, group)) group.ready_at = std::min(group.ready_at, task.submitted);
  const Rank rank = task.rank();
  group.tasks.emplace_hint(group.tasks.end(), rank, std::move(task));
  ++size_;
}

void Lane::PushBatch(Batch batch) {
  size_ += batch.size();
  retries_.push_back(std::move(batch));
}

std::optional<TimePoint> Lane::ReadyAt() const {
  if (!retries_.empty()) return TimePoint::min();
  std::optional<TimePoint> earliest;
  for (const auto& [key, group] : groups_) earliest = std::min(earliest.value_or(TimePoint::max()), group.ready_at);
  return earliest;
}

Taken Lane::TakeRetry(TimePoint now) {
  Taken taken{.batch = {}, .late = {}, .ready = TimePoint::min()};
  for (Task& task : retries_.front()) {
    const bool late = task.terms.deadline <= now || task.terms.cancelled.stop_requested();
    (late ? taken.late : taken.batch).push_back(std::move(task));
  }
  size_ -= retries_.front().size();
  retries_.pop_front();
  return taken;
}

std::vector<std::map<Rank, Task>::iterator> Lane::Front(Groups::iterator group) const {
  std::vector<std::map<Rank, Task>::iterator> front;
  int64_t rows = 0;
  for (auto task = group->second.tasks.begin(); task != group->second.tasks.end(); ++task) {
    front.push_back(task);
    rows += task->second.rows;
    if (group->first.empty() || rows > kBatchesConsidered * options_.max_batch_size) break;
  }
  return front;
}

Lane::Groups::const_iterator Lane::FirstReady(TimePoint now) const {
  auto first = groups_.end();
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    if (group->second.ready_at > now) continue;
    if (first == groups_.end() || group->second.tasks.begin()->first < first->second.tasks.begin()->first)
      first = group;
  }
  CHECK(first != groups_.end());
  return first;
}

Rank Lane::FirstRank(TimePoint now) const {
  return retries_.empty() ? FirstReady(now)->second.tasks.begin()->first : Rank{TimePoint::min(), 0};
}

Taken Lane::Take(TimePoint now, const Forecast& forecast) {
  if (!retries_.empty()) return TakeRetry(now);
  const auto first = groups_.find(FirstReady(now)->first);
  Taken taken{.batch = {}, .late = {}, .ready = first->second.ready_at};
  const auto front = Front(first);
  std::vector<QueuedRequest> requests;
  for (const auto& task : front) {
    const Task& one = task->second;
    const Duration left = one.terms.deadline - now;
    requests.push_back({one.rows, one.bytes, one.is_probe && left > Duration(0) ? Duration::max() : left});
  }
  const std::vector<int> unpadded;
  const Costs costs(forecast, front.front()->second.request.signature,
                    first->first.empty() ? unpadded : options_.allowed_batch_sizes, now);
  // Urgent requests come first in about half of the batches, without a fixed period, so that requests that arrive in a
  // periodic pattern do not always get the same order.
  const bool urgent_first = std::popcount(front.front()->second.number) % 2 == 1;
  const BatchChoice choice = ChooseBatch(requests, options_.max_batch_size, costs, urgent_first);
  for (const size_t at : choice.too_late) {
    front[at]->second.least_run = costs.AtLeast(requests[at].rows, requests[at].bytes);
    taken.late.push_back(Remove(first->second, front[at]));
  }
  for (const size_t at : choice.run) taken.batch.push_back(Remove(first->second, front[at]));
  EraseOrRefresh(first);
  return taken;
}

Task Lane::Remove(Group& group, std::map<Rank, Task>::iterator task) {
  Task taken = std::move(task->second);
  group.tasks.erase(task);
  group.rows -= taken.rows;
  group.bytes -= taken.bytes;
  group.likely -= taken.likely_run;
  --count_by_priority_[static_cast<size_t>(taken.terms.priority)];
  --size_;
  return taken;
}

void Lane::EraseOrRefresh(Groups::iterator group) {
  if (group->second.tasks.empty()) {
    groups_.erase(group);
  } else {
    Refresh(group->first, &group->second);
  }
}

std::optional<Task> Lane::Remove(const std::string& key, const Rank& rank) {
  const auto group = groups_.find(key);
  if (group == groups_.end()) return std::nullopt;
  const auto task = group->second.tasks.find(rank);
  if (task == group->second.tasks.end()) return std::nullopt;
  Task taken = Remove(group->second, task);
  EraseOrRefresh(group);
  return taken;
}

std::vector<Task> Lane::TakeExpired(TimePoint now) {
  std::vector<Task> expired;
  for (auto at = groups_.begin(); at != groups_.end();) {
    const auto group = at++;
    const size_t before = expired.size();
    for (auto task = group->second.tasks.begin(); task != group->second.tasks.end();) {
      const auto one = task++;
      if (one->second.terms.deadline <= now) expired.push_back(Remove(group->second, one));
    }
    if (expired.size() != before) EraseOrRefresh(group);
  }
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
