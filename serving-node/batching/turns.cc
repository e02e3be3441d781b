#include "serving-node/batching/turns.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace longshore::batching {
namespace {

bool IsWaiting(const Waiter& waiter) {
  const std::lock_guard lock(waiter.share->mutex);
  return waiter.lane.size() > 0;
}

}  // namespace

void Turns::Update(const WaiterPtr& waiter) {
  const bool waits = IsWaiting(*waiter);
  if (waits == waiter->in_turns) return;
  waiter->in_turns = waits;
  if (waits) {
    waiting_.push_back(waiter);
  } else {
    waiting_.remove(waiter);
  }
}

void Turns::MoveToEnd(const WaiterPtr& waiter) {
  if (std::exchange(waiter->in_turns, false)) waiting_.remove(waiter);
  Update(waiter);
}

std::optional<Turns::Candidate> Turns::CandidateOf(const WaiterPtr& waiter, TimePoint now) const {
  const std::lock_guard lock(waiter->share->mutex);
  const auto ready_at = waiter->lane.ReadyAt();
  if (!ready_at || *ready_at > now) return std::nullopt;
  return Candidate{&waiter, waiter->lane.FirstRank(now), StartOf(*waiter->share)};
}

bool Turns::IsBefore(const Candidate& a, const Candidate& b) {
  if ((*a.waiter)->share == (*b.waiter)->share) return a.first < b.first;
  return a.start < b.start;
}

Turns::WaiterPtr Turns::Next(TimePoint now) const {
  std::optional<Candidate> next;
  for (const WaiterPtr& waiter : waiting_) {
    const auto candidate = CandidateOf(waiter, now);
    if (candidate && (!next || IsBefore(*candidate, *next))) next = candidate;
  }
  return next ? *next->waiter : nullptr;
}

TimePoint Turns::ReadyAt() const {
  TimePoint earliest = TimePoint::max();
  for (const WaiterPtr& waiter : waiting_) {
    const std::lock_guard lock(waiter->share->mutex);
    earliest = std::min(earliest, waiter->lane.ReadyAt().value_or(TimePoint::max()));
  }
  return earliest;
}

void Turns::Begin(Waiter& waiter, Duration at_least) {
  const Duration start = StartOf(*waiter.share);
  waiter.share->used = start + at_least;
  Duration floor = floor_.load();
  while (floor < start && !floor_.compare_exchange_weak(floor, start)) {
  }
}

}  // namespace longshore::batching
