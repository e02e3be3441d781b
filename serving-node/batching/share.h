// A share: what the queues of one model, which are those of its versions, have in common on a node. They have a part
// of the run time (turns.h), a limit of waiting requests, and a lock.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "serving-node/batching/lane.h"
#include "serving-node/batching/usage.h"

namespace longshore::batching {

struct Waiter;

struct Share {
  explicit Share(std::string of = "") : name(std::move(of)) {}

  const std::string name;
  std::mutex mutex;  // Guards the fields below, and those of its queues.
  Duration used{0};  // Run time, as Turns counts it.
  Usage usage;
  std::vector<Waiter*> queues;  // All queues of the share, also empty ones.
};

// A queue, as Turns and the other queues of its share see it.
struct Waiter {
  // Both take the lock of the share.
  Waiter(const Options& options, std::shared_ptr<Share> its_share);
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Returns the number of requests that wait in the other queues of the share. Requires the lock of the share.
  size_t WaitingBeside() const;

  const std::shared_ptr<Share> share;
  // Guarded by the lock of the share:
  Lane lane;
  TimePoint next_deadline = TimePoint::max();  // A lower bound of the deadlines of the requests in the lane.
  bool in_turns = false;                       // Whether the queue is in the list of Turns. Used by Turns only.
};

}  // namespace longshore::batching
