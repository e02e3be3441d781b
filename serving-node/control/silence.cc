#include "serving-node/control/silence.h"

namespace longshore::control {

SilenceWatch::SilenceWatch(const MonotonicClock& clock, std::chrono::milliseconds interval,
                           std::function<void(Duration)> on_look)
    : clock_(clock), on_look_(std::move(on_look)), heard_at_(clock.Now()), ticker_(interval, [this] { Look(); }) {}

void SilenceWatch::Heard() {
  const std::lock_guard lock(mutex_);
  heard_at_ = clock_.Now();
}

void SilenceWatch::Look() {
  std::unique_lock lock(mutex_);
  const Duration silent = clock_.Now() - heard_at_;
  lock.unlock();
  on_look_(silent);
}

}  // namespace longshore::control
