// A bounded map of counters, with fast concurrent access for threads that only increment them. A family of
// prometheus-cpp has no bound and cannot move the counts of one key to another.
//
//   Series<Key, Counters> series(1000, Key{.model = "other"});
//   series.With(KeyOf(request), [](Counters& each) { each.requests.Add(1); });
//
// Key must have operator<. Value must be default-constructible and have void Add(const Value&).
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace longshore::metrics {

// Thread-safe.
template <typename Key, typename Value>
class Series {
 public:
  // After `keys_max` keys, all new keys share the value of the key `other`.
  Series(size_t keys_max, Key other) : keys_max_(keys_max), other_(std::move(other)) {}

  // Calls use(value) for the key's value. `use` must be thread-safe and fast.
  template <typename Use>
  void With(const Key& key, const Use& use) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = values_.find(key); found != values_.end()) return use(found->second);
    }
    const std::unique_lock lock(mutex_);
    const bool is_full = values_.size() >= keys_max_ && !values_.contains(key);
    use(values_[is_full ? other_ : key]);
  }

  // Whether the key has a value.
  bool Has(const Key& key) const {
    const std::shared_lock lock(mutex_);
    return values_.contains(key);
  }

  // Calls change_key(&key) with a copy of each key. If it returns true, the key is removed and its value is added to
  // the value of the changed key.
  template <typename ChangeKey>
  void Move(const ChangeKey& change_key) {
    const std::unique_lock lock(mutex_);
    for (auto it = values_.begin(); it != values_.end();) {
      Key key = it->first;
      if (!change_key(&key)) {
        ++it;
        continue;
      }
      values_[std::move(key)].Add(it->second);
      it = values_.erase(it);
    }
  }

  // Calls visit(key, value) for each key.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    const std::shared_lock lock(mutex_);
    for (const auto& [key, value] : values_) visit(key, value);
  }

 private:
  const size_t keys_max_;
  const Key other_;
  mutable std::shared_mutex mutex_;
  std::map<Key, Value> values_;
};

}  // namespace longshore::metrics
