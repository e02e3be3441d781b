// The common state of the versions of one model on a node: their share of the run time, and one lock. They also share
// their limit of waiting requests.
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
  Duration used{0};  // Run time; see turns.h.
  Usage usage;
  std::vector<Waiter*> queues;  // All that exist.
};

// A queue, as Turns and the other queues of its share see it.
struct Waiter {
  Waiter(const Options& options, std::shared_ptr<Share> its_share);
  // Must not be called under the lock of the share.
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Returns the number of requests that wait in the other queues of the share. Requires the lock of the share.
  size_t WaitingBeside() const;

  const std::shared_ptr<Share> share;
  // Guarded by the lock of the share:
  Lane lane;
  TimePoint next_deadline = TimePoint::max();  // A lower bound of the deadlines of the requests in the lane.
  // Used by Turns only.
  bool in_turns = false;
};

}  // namespace longshore::batching
