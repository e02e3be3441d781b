// Decides which queue runs its batch next: fair sharing of a node's run time. No threads, no clock: time is an
// argument.
//
// Every share counts the run time that it used. Among the queues with a ready batch, the one whose share has used least
// runs next. A share is charged the expected minimum when a batch begins, corrected to the measured time when the batch
// ends. An idle share earns no credit: when it has work again, it counts as if it had used as much as the share that
// began last. The used times of two shares that always have work differ by at most a few of their longest runs per
// slot.
//
// The queues of one share, which are the versions of one model, take turns in the order in which their requests
// arrived, and share their limit of waiting requests. A request then waits as long as it would in a single queue,
// whichever version it was assigned to: of two equal versions without batching, neither waits longer, is refused more
// often or misses more deadlines, whatever their shares of the traffic are (versions_test.cc). With batching this holds
// for refusals only: a version with less traffic has smaller batches, which hold all its waiting requests more often.
#pragma once

#include <list>
#include <memory>
#include <optional>

#include "serving-node/batching/lane.h"

namespace longshore::batching {

struct Share {
  Duration used{0};
};

// What Turns needs to know about a queue.
struct Waiter {
  Waiter(const Options& options, std::shared_ptr<Share> its_share) : lane(options), share(std::move(its_share)) {}

  Lane lane;
  const std::shared_ptr<Share> share;
  bool in_turns = false;
};

class Turns {
 public:
  using WaiterPtr = std::shared_ptr<Waiter>;

  // Adds a queue that has waiting requests. Does nothing if it was added already, or if its lane is empty.
  void Add(const WaiterPtr& waiter);
  void Remove(const WaiterPtr& waiter);

  // Returns the queue whose ready batch runs next; null if no batch is ready. The queue stays in the list until Remove.
  WaiterPtr Next(TimePoint now) const;
  // Returns the number of requests that wait in the other queues with the same share.
  size_t WaitingBeside(const Waiter& waiter) const;

  // Call it when a batch of `waiter` begins; charges the share with `at_least`. This must be a lower bound of the run
  // time: a higher charge could raise floor_, and with it the used time of other shares, which then get less time than
  // is fair.
  void Begin(Waiter& waiter, Duration at_least);
  // Call it when a batch that was charged with `charged` has ended after `took`. Its queue may no longer exist.
  static void End(Share& share, Duration charged, Duration took) { share.used += took - charged; }

  // Returns when the next batch is or becomes ready; nullopt if no requests wait.
  std::optional<TimePoint> ReadyAt() const;

  const std::list<WaiterPtr>& waiting() const { return waiting_; }

 private:
  Duration StartOf(const Waiter& waiter) const { return std::max(waiter.share->used, floor_); }
  bool IsBefore(const Waiter& a, const Waiter& b, TimePoint now) const;

  std::list<WaiterPtr> waiting_;  // The queue that has waited longest for its turn is first.
  Duration floor_{0};             // StartOf the queue whose batch began last. No share counts as less.
};

}  // namespace longshore::batching
