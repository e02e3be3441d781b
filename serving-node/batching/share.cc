#include "serving-node/batching/share.h"

#include <utility>

namespace longshore::batching {

Waiter::Waiter(const Options& options, std::shared_ptr<Share> its_share) : share(std::move(its_share)), lane(options) {
  const std::lock_guard lock(share->mutex);
  share->queues.push_back(this);
}

Waiter::~Waiter() {
  const std::lock_guard lock(share->mutex);
  std::erase(share->queues, this);
}

size_t Waiter::WaitingBeside() const {
  size_t waiting = 0;
  for (const Waiter* other : share->queues) {
    if (other != this) waiting += other->lane.size();
  }
  return waiting;
}

}  // namespace longshore::batching
