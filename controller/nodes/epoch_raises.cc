#include "controller/nodes/epoch_raises.h"

namespace longshore::nodes {

Status EpochRaises::Allow(int64_t epoch, MonotonicPoint now) {
  if (last_ && last_->epoch == epoch) return {};
  if (last_ && now - last_->at < interval_min_) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(last_->at + interval_min_ - now);
    return ResourceExhausted(
        "a node with a higher epoch has just ended a term of the controller; nodes can end the next one in {} s",
        left.count());
  }
  last_ = Raise{epoch, now};
  return {};
}

}  // namespace longshore::nodes
