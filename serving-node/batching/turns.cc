#include "serving-node/batching/turns.h"

#include <algorithm>

namespace longshore::batching {

void Turns::Add(const WaiterPtr& waiter) {
  if (waiter->in_turns || waiter->lane.size() == 0) return;
  waiter->in_turns = true;
  waiting_.push_back(waiter);
}

void Turns::Remove(const WaiterPtr& waiter) {
  if (!waiter->in_turns) return;
  waiter->in_turns = false;
  waiting_.remove(waiter);
}

bool Turns::IsBefore(const Waiter& a, const Waiter& b, TimePoint now) const {
  if (a.share == b.share) return a.lane.FirstRank(now) < b.lane.FirstRank(now);
  return StartOf(a) < StartOf(b);
}

Turns::WaiterPtr Turns::Next(TimePoint now) const {
  const WaiterPtr* next = nullptr;
  for (const WaiterPtr& waiter : waiting_) {
    const auto ready_at = waiter->lane.ReadyAt();
    if (!ready_at || *ready_at > now) continue;
    if (next == nullptr || IsBefore(*waiter, **next, now)) next = &waiter;
  }
  return next == nullptr ? nullptr : *next;
}

size_t Turns::WaitingBeside(const Waiter& waiter) const {
  size_t waiting = 0;
  for (const WaiterPtr& other : waiting_) {
    if (other.get() != &waiter && other->share == waiter.share) waiting += other->lane.size();
  }
  return waiting;
}

void Turns::Begin(Waiter& waiter, Duration at_least) {
  floor_ = StartOf(waiter);
  waiter.share->used = floor_ + at_least;
}

std::optional<TimePoint> Turns::ReadyAt() const {
  std::optional<TimePoint> earliest;
  for (const WaiterPtr& waiter : waiting_) {
    const auto ready_at = waiter->lane.ReadyAt();
    if (ready_at) earliest = std::min(earliest.value_or(TimePoint::max()), *ready_at);
  }
  return earliest;
}

}  // namespace longshore::batching
