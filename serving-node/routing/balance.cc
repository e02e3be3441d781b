#include "serving-node/routing/balance.h"

#include "common/base/mix.h"

namespace longshore::routing {

std::string Balance::LessLoaded(const std::vector<std::string>& peers) {
  const uint64_t draw = Scatter64(draws_.fetch_add(1, std::memory_order_relaxed));
  const size_t first = draw % peers.size();
  if (peers.size() == 1) return peers[first];
  const size_t second = (first + 1 + (draw >> 32) % (peers.size() - 1)) % peers.size();
  forwarder_.Watch({peers[first], peers[second]});
  const auto load_of_first = forwarder_.LoadOf(peers[first]);
  const auto load_of_second = forwarder_.LoadOf(peers[second]);
  if (!load_of_second || (load_of_first && load_of_first->PerSlot() <= load_of_second->PerSlot())) return peers[first];
  return peers[second];
}

std::optional<std::string> Balance::SpillTarget(const std::vector<std::string>& peers, Duration delay_max) {
  if (peers.empty()) return std::nullopt;
  const auto now = std::chrono::steady_clock::now();
  // If the queue is empty, the load is read only to keep the recent cost of a request up to date (QueueDelay).
  if (admission_.queued() == 0 && !queue_delay_.NeedsReading(now)) return std::nullopt;
  const batching::Load load = admission_.load();
  const Duration delay = queue_delay_.Estimate(load, now);
  if (load.queued == 0) return std::nullopt;
  forwarder_.Watch(peers);
  if (delay <= delay_max) return std::nullopt;
  const std::string peer = LessLoaded(peers);
  const auto theirs = forwarder_.LoadOf(peer);
  const PeerLoad ours{load.running, load.queued, load.concurrent_runs_max};
  if (!theirs || theirs->PerSlot() > 0.5 * ours.PerSlot()) return std::nullopt;
  return peer;
}

}  // namespace longshore::routing
