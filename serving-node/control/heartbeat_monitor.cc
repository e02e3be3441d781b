#include "serving-node/control/heartbeat_monitor.h"

namespace longshore::control {

HeartbeatMonitor::HeartbeatMonitor(const MonotonicClock& clock, std::chrono::milliseconds interval,
                                   std::function<void(Duration)> on_check)
    : clock_(clock),
      on_check_(std::move(on_check)),
      last_message_(clock.Now()),
      ticker_(interval, [this] { Check(); }) {}

void HeartbeatMonitor::NoteMessage() {
  const std::lock_guard lock(mutex_);
  last_message_ = clock_.Now();
}

void HeartbeatMonitor::Check() {
  std::unique_lock lock(mutex_);
  const Duration silent = clock_.Now() - last_message_;
  lock.unlock();
  on_check_(silent);
}

}  // namespace longshore::control
