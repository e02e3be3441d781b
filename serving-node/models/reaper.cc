#include "serving-node/models/reaper.h"

#include <algorithm>

#include "common/process/background.h"

namespace longshore::models {

Reaper::Reaper(int threads, Gone gone) : gone_(std::move(gone)) {
  for (int i = 0; i < std::max(threads, 1); ++i) threads_.emplace_back([this] { Reap(); });
}

Reaper::~Reaper() {
  {
    const std::lock_guard lock(graves_->mutex);
    graves_->stopping = true;
  }
  graves_->wake.notify_all();
  for (auto& thread : threads_) thread.join();
}

Handle Reaper::Guard(std::unique_ptr<const ReadyVersion> ready) {
  return Handle(ready.release(), [graves = graves_](const ReadyVersion* dead) {
    const std::lock_guard lock(graves->mutex);
    graves->dead.emplace_back(dead);
    graves->wake.notify_one();
  });
}

void Reaper::Reap() {
  process::RunInBackground();
  std::unique_lock lock(graves_->mutex);
  while (true) {
    graves_->wake.wait(lock, [this] { return graves_->stopping || !graves_->dead.empty(); });
    if (graves_->dead.empty()) return;
    auto dead = std::move(graves_->dead.front());
    graves_->dead.pop_front();
    lock.unlock();
    const std::string model = dead->model;
    const int64_t version = dead->version;
    dead.reset();
    gone_(model, version);
    lock.lock();
  }
}

}  // namespace longshore::models
