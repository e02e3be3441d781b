#include "serving-node/models/reaper.h"

#include <malloc.h>

namespace longshore::models {

Reaper::Reaper(Gone gone) : gone_(std::move(gone)), thread_([this] { Reap(); }) {}

Reaper::~Reaper() {
  {
    const std::lock_guard lock(graves_->mutex);
    graves_->stopping = true;
  }
  graves_->wake.notify_all();
  thread_.join();
}

Handle Reaper::Guard(std::unique_ptr<const ReadyVersion> ready) {
  return Handle(ready.release(), [graves = graves_](const ReadyVersion* dead) {
    const std::lock_guard lock(graves->mutex);
    graves->dead.emplace_back(dead);
    graves->wake.notify_one();
  });
}

void Reaper::Reap() {
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
    malloc_trim(
        0);  // The allocator keeps what was freed; an unloaded version's memory is for the next one, or for others.
    gone_(model, version);
    lock.lock();
  }
}

}  // namespace longshore::models
