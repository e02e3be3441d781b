#include "serving-node/control/silence.h"

namespace longshore::control {

SilenceWatch::SilenceWatch(const MonotonicClock& clock, std::chrono::milliseconds interval,
                           std::function<void(Duration)> on_look)
    : clock_(clock), interval_(interval), on_look_(std::move(on_look)), heard_at_(clock.Now()), thread_([this] {
        Watch();
      }) {}

SilenceWatch::~SilenceWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SilenceWatch::Heard() {
  const std::lock_guard lock(mutex_);
  heard_at_ = clock_.Now();
}

void SilenceWatch::Watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval_, [this] { return stopping_; })) {
    const Duration silent = clock_.Now() - heard_at_;
    lock.unlock();
    on_look_(silent);
    lock.lock();
  }
}

}  // namespace longshore::control
