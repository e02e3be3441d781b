// Counters by key, in bounded number, found quickly by threads that only add to them.
//
//   Series<Key, Counters> series(1000, Key{.model = "other"});
//   series.With(KeyOf(request), [](Counters& each) { each.requests.Add(1); });
//
// Key is ordered by <. Value is made by default, and has void Add(const Value&).
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
  // Keys beyond `keys_max` share the values of `other`.
  Series(size_t keys_max, Key other) : keys_max_(keys_max), other_(std::move(other)) {}

  // Calls use(value), which must be thread-safe and quick.
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

  // Whether a value of this key is there.
  bool Has(const Key& key) const {
    const std::shared_lock lock(mutex_);
    return values_.contains(key);
  }

  // Takes each value for which moved(&key) is true to the key that it then is, and adds it to what is there.
  template <typename Moved>
  void Move(const Moved& moved) {
    const std::unique_lock lock(mutex_);
    for (auto it = values_.begin(); it != values_.end();) {
      Key key = it->first;
      if (!moved(&key)) {
        ++it;
        continue;
      }
      values_[std::move(key)].Add(it->second);
      it = values_.erase(it);
    }
  }

  // Calls see(key, value) for each.
  template <typename See>
  void ForEach(const See& see) const {
    const std::shared_lock lock(mutex_);
    for (const auto& [key, value] : values_) see(key, value);
  }

 private:
  const size_t keys_max_;
  const Key other_;
  mutable std::shared_mutex mutex_;
  std::map<Key, Value> values_;
};

}  // namespace longshore::metrics
