// Decides which queue runs its batch next: fair sharing of a node's run time. No clock: time is an argument.
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
// often or misses more deadlines, however the traffic is split between them (versions_test.cc). With batching this
// holds for refusals only: a version with less traffic has smaller batches, which hold all its waiting requests more
// often.
#pragma once

#include <algorithm>
#include <atomic>
#include <list>
#include <memory>
#include <optional>

#include "serving-node/batching/share.h"

namespace longshore::batching {

// Only one thread at a time may use this class. But Begin and End, which require the lock of the share, may run at any
// time. All other functions take the locks of shares.
class Turns {
 public:
  using WaiterPtr = std::shared_ptr<Waiter>;

  // Adds the queue if requests wait in it, and removes it otherwise.
  void Update(const WaiterPtr& waiter);
  // Call it after a batch was taken from the queue. Removes the queue if no requests wait in it. Otherwise moves it
  // behind all others, so that a queue whose share has used as much goes first.
  void MoveToEnd(const WaiterPtr& waiter);

  // Returns the queue whose ready batch runs next; null if no batch is ready. Does not remove the queue.
  WaiterPtr Next(TimePoint now) const;
  // Returns when the next batch is or becomes ready; TimePoint::max() if no requests wait.
  TimePoint ReadyAt() const;

  // Call it when a batch of `waiter` begins; charges the share with `at_least`. This must be a lower bound of the run
  // time: a higher charge could raise floor_, and with it the used time of other shares, which then get less time than
  // is fair.
  void Begin(Waiter& waiter, Duration at_least);
  // Call it when a batch that was charged with `charged` has ended after `took`. Its queue may no longer exist.
  static void End(Share& share, Duration charged, Duration took) { share.used += took - charged; }

  const std::list<WaiterPtr>& waiting() const { return waiting_; }

 private:
  // A queue with a ready batch.
  struct Candidate {
    const WaiterPtr* waiter;
    Rank first;
    Duration start;
  };

  Duration StartOf(const Share& share) const { return std::max(share.used, floor_.load()); }
  std::optional<Candidate> CandidateOf(const WaiterPtr& waiter, TimePoint now) const;
  static bool IsBefore(const Candidate& a, const Candidate& b);

  std::list<WaiterPtr> waiting_;               // The queue that has waited longest for its turn is first.
  std::atomic<Duration> floor_ = Duration(0);  // StartOf the share whose batch began last. No share counts as less.
};

}  // namespace longshore::batching
