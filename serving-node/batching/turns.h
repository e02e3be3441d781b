// Whose batch runs next: the shares of a node's models, by run time. No threads, no clock: time is an argument.
//
// Every share has used so much run time; of the queues whose batch is ready, the one whose share has used least goes
// first. A batch is charged with the least that it takes when it begins and with what it took when it has ended. Who
// had no work saves nothing up: it begins where the others are. So of two shares that both have work all the time
// neither gets ahead of the other by more than its longest run per slot, however many requests wait and however long
// they run.
#pragma once

#include <list>
#include <memory>
#include <optional>

#include "serving-node/batching/lane.h"

namespace longshore::batching {

struct Share {
  Duration used{0};
};

// A queue as far as turns go.
struct Waiter {
  Waiter(const Options& options, std::shared_ptr<Share> its_share) : lane(options), share(std::move(its_share)) {}

  Lane lane;
  const std::shared_ptr<Share> share;
  bool in_turns = false;
};

class Turns {
 public:
  using WaiterPtr = std::shared_ptr<Waiter>;

  // It has requests waiting. Nothing happens when it had some before.
  void Add(const WaiterPtr& waiter);
  void Remove(const WaiterPtr& waiter);

  // The next one, whose batch is ready; null when none is. It stays until its lane is empty or it is removed.
  WaiterPtr Next(TimePoint now) const;

  // Its batch begins, and takes at least so long: whoever is charged with more than it takes would lose the rest where
  // others begin meanwhile.
  void Begin(Waiter& waiter, Duration at_least);
  // A batch that was charged with so much took so long. It may have been the last of its queue.
  static void End(Share& share, Duration charged, Duration took) { share.used += took - charged; }

  // When a batch is ready that is not ready yet; nullopt: nothing waits.
  std::optional<TimePoint> ReadyAt() const;

  const std::list<WaiterPtr>& waiting() const { return waiting_; }

 private:
  Duration StartOf(const Waiter& waiter) const { return std::max(waiter.share->used, floor_); }

  std::list<WaiterPtr> waiting_;  // Who waits longest for a turn is first.
  Duration floor_{0};             // What the share had used whose batch began last: nobody begins below.
};

}  // namespace longshore::batching
