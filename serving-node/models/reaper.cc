#include "serving-node/models/reaper.h"

#include <algorithm>

#include "common/os/process/background.h"

namespace longshore::models {

Reaper::Reaper(int threads, Gone gone) : gone_(std::move(gone)) {
  for (int i = 0; i < std::max(threads, 1); ++i) threads_.emplace_back([this] { Reap(); });
}

Reaper::~Reaper() {
  {
    const std::lock_guard lock(garbage_->mutex);
    garbage_->stopping = true;
  }
  garbage_->wake.notify_all();
  for (auto& thread : threads_) thread.join();
}

Handle Reaper::Guard(std::unique_ptr<const ReadyVersion> ready) {
  return Handle(ready.release(), [garbage = garbage_](const ReadyVersion* unused) {
    const std::lock_guard lock(garbage->mutex);
    garbage->unused.emplace_back(unused);
    garbage->wake.notify_one();
  });
}

void Reaper::Reap() {
  process::RunInBackground();
  std::unique_lock lock(garbage_->mutex);
  while (true) {
    garbage_->wake.wait(lock, [this] { return garbage_->stopping || !garbage_->unused.empty(); });
    if (garbage_->unused.empty()) return;
    auto unused = std::move(garbage_->unused.front());
    garbage_->unused.pop_front();
    lock.unlock();
    const std::string model = unused->model;
    const int64_t version = unused->version;
    unused.reset();
    gone_(model, version);
    lock.lock();
  }
}

}  // namespace longshore::models
