// The nodes of the current term of leadership, for readers that live longer than a term.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "controller/nodes/nodes.h"

namespace longshore::app {

// Thread-safe. Outside of a term, the list of nodes is empty and the epoch is 0.
class CurrentNodes final : public nodes::Views {
 public:
  // nullptr: the term is over. Returns after the last reader of the previous registry.
  void Set(const nodes::Views* registry) {
    const std::lock_guard lock(mutex_);
    registry_ = registry;
  }
  bool IsSet() const {
    const std::lock_guard lock(mutex_);
    return registry_ != nullptr;
  }

  int64_t epoch() const override {
    const std::lock_guard lock(mutex_);
    return registry_ == nullptr ? 0 : registry_->epoch();
  }
  std::vector<nodes::ViewPtr> Nodes(const std::string& fleet) const override {
    const std::lock_guard lock(mutex_);
    return registry_ == nullptr ? std::vector<nodes::ViewPtr>() : registry_->Nodes(fleet);
  }

 private:
  mutable std::mutex mutex_;
  const nodes::Views* registry_ = nullptr;  // Guarded by the mutex.
};

}  // namespace longshore::app
