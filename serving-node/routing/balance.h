// Which peer gets a request: the less loaded of two, and whether it should get one that this node could run itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "serving-node/batching/batching.h"
#include "serving-node/routing/forwarder.h"
#include "serving-node/routing/queue_delay.h"

namespace longshore::routing {

// Thread-safe.
class Balance {
 public:
  Balance(const batching::Admission& admission, Forwarder& forwarder) : admission_(admission), forwarder_(forwarder) {}

  // Of two peers drawn at random, the one of which less load is known; the first where nothing is. Requires: peers.
  std::string LessLoaded(const std::vector<std::string>& peers);

  // Who should take a request because the queue here takes longer than delay_max; nullopt: it stays. Takes no lock
  // while nothing waits.
  std::optional<std::string> SpillTarget(const std::vector<std::string>& peers, Duration delay_max);

 private:
  const batching::Admission& admission_;
  Forwarder& forwarder_;
  QueueDelay queue_delay_;
  std::atomic<uint64_t> draws_{0};
};

}  // namespace longshore::routing
