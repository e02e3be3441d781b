// Chooses the peer that gets a request, and decides whether a peer should run a request that this node could run
// itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "serving-node/batching/batching.h"
#include "serving-node/routing/forwarder.h"
#include "serving-node/routing/queue_delay.h"

namespace longshore::routing {

// Thread-safe.
class Balance {
 public:
  Balance(const batching::Admission& admission, Forwarder& forwarder) : admission_(admission), forwarder_(forwarder) {}

  // Draws two peers at random and returns the one with the lower known load. Prefers a peer whose load is known;
  // returns the first one drawn if no load is known. Asks both for their load, so that it is known at later calls.
  // Requires: !peers.empty().
  std::string LessLoaded(const std::vector<std::string>& peers);

  // Returns the peer that should run a request because the queue of this node delays it by more than delay_max and the
  // peer has at most half of this node's load; nullopt if this node should run it. Takes no lock while no request is
  // queued.
  std::optional<std::string> SpillTarget(const std::vector<std::string>& peers, Duration delay_max);

 private:
  const batching::Admission& admission_;
  Forwarder& forwarder_;
  QueueDelay queue_delay_;
  std::atomic<uint64_t> draws_{0};
};

}  // namespace longshore::routing
