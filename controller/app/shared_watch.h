// Lets readers watch a store that allows only one watch, the controller's own.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "controller/store/forwarding_store.h"

namespace longshore::app {

// Thread-safe. A watch is told about changes only, not about the objects that exist when it begins.
class SharedWatch final : public store::ForwardingStore {
 public:
  explicit SharedWatch(store::Store& store) : ForwardingStore(store) {}

  // Tells all watches about a change.
  void Notice(const api::Key& key) {
    const std::lock_guard lock(mutex_);
    for (const store::OnChange& on_change : watches_) on_change(key);
  }

  Result<std::unique_ptr<store::Watch>> WatchAll(store::OnChange on_change) override {
    const std::lock_guard lock(mutex_);
    watches_.push_front(std::move(on_change));
    return std::unique_ptr<store::Watch>(std::make_unique<One>(*this, watches_.begin()));
  }

 private:
  using Watches = std::list<store::OnChange>;

  class One final : public store::Watch {
   public:
    One(SharedWatch& store, Watches::iterator watch) : store_(store), watch_(watch) {}
    ~One() override {
      const std::lock_guard lock(store_.mutex_);
      store_.watches_.erase(watch_);
    }

   private:
    SharedWatch& store_;
    const Watches::iterator watch_;
  };

  std::mutex mutex_;
  Watches watches_;  // Guarded by the mutex.
};

}  // namespace longshore::app
