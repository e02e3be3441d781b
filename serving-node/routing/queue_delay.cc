#include "serving-node/routing/queue_delay.h"

#include <algorithm>

namespace longshore::routing {

Duration QueueDelay::Estimate(const batching::Load& load, TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (now - newer_.at >= kWindow) {
    older_ = newer_;
    newer_ = {now, load.busy_seconds, load.started};
    next_reading_.store((now + kWindow).time_since_epoch().count(), std::memory_order_relaxed);
  }
  const int64_t started = load.started - older_.started;
  if (started > 0) seconds_per_request_ = (load.busy_seconds - older_.busy_seconds) / static_cast<double>(started);
  const auto slots = static_cast<double>(std::max<int64_t>(1, load.concurrent_runs_max));
  const double seconds = static_cast<double>(load.queued) * seconds_per_request_ / slots;
  return Duration(static_cast<int64_t>(seconds * 1e6));
}

}  // namespace longshore::routing
