// A mirror of one collection with decoded objects, which contains this client's writes before the watch reports them.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/json/json.h"
#include "common/json/path.h"
#include "controller/kube/reflector.h"

namespace longshore::kube {

struct Name {
  std::string namespace_;
  std::string name;

  auto operator<=>(const Name&) const = default;
};

// Thread-safe. An object never goes back to an older version.
template <typename Value>
class Cache final : public Mirror {
 public:
  // Returns the value to keep for an object. If it returns an error, the cache keeps the error instead.
  using Decode = std::function<Result<Value>(const Json& object)>;
  // Called without a lock, on the thread that made the change. `value` is the new value, or the last one if the object
  // was deleted.
  using OnChange = std::function<void(const Name& name, const Result<Value>& value)>;

  Cache(Decode decode, OnChange on_change) : decode_(std::move(decode)), on_change_(std::move(on_change)) {}

  // Returns nullopt if the object does not exist.
  std::optional<Result<Value>> Get(const Name& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    if (found == entries_.end()) return std::nullopt;
    return found->second.value;
  }

  // Visits the objects in the order of their names, with the cache locked.
  void ForEach(const std::function<void(const Name&, const Result<Value>&)>& visit) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : entries_) visit(name, entry.value);
  }

  // Whether a complete list has been received.
  bool is_complete() const {
    const std::lock_guard lock(mutex_);
    return complete_;
  }

  // Waits until the first list is complete. Returns Unavailable with the last error when the time is over.
  Status WaitUntilComplete(std::chrono::milliseconds time) const {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, time, [this] { return complete_; })) return {};
    return Unavailable("{}", result_ ? "no complete list was received in time" : result_.error().message);
  }

  // As WaitUntilComplete, but also returns success as soon as the server refuses the list because a right is missing.
  Status WaitUntilCompleteOrForbidden(std::chrono::milliseconds time) const {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, time, [this] { return complete_ || IsForbidden(); })) return {};
    }
    return WaitUntilComplete(std::chrono::milliseconds(0));
  }

  // Whether the last attempt to read the collection was refused because a right is missing.
  bool is_forbidden() const {
    const std::lock_guard lock(mutex_);
    return IsForbidden();
  }

  void BeginList() override {
    const std::lock_guard lock(mutex_);
    listed_.emplace();
  }

  void Put(Json object) override { Store(object, true); }

  // Stores the answer to a write of this client, before the watch reports the write. If the cache does not have the
  // object and the watch has passed its version, the answer is ignored, because the object may have been deleted since.
  void PutOwnWrite(const Json& object) { Store(object, false); }

  void Delete(const Json& object) override {
    const Name name = NameOf(object);
    const uint64_t version = VersionOf(object);
    Node deleted;
    {
      const std::lock_guard lock(mutex_);
      observed_version_ = std::max(observed_version_, version);
      const auto found = entries_.find(name);
      if (found == entries_.end() || (version != 0 && found->second.version > version)) return;
      deleted = entries_.extract(found);
    }
    on_change_(name, deleted.mapped().value);
  }

  void EndList(const std::string& resource_version) override {
    const uint64_t version = VersionOf({{"metadata", {{"resourceVersion", resource_version}}}});
    std::vector<Node> deleted;
    {
      const std::lock_guard lock(mutex_);
      observed_version_ = std::max(observed_version_, version);
      for (auto at = entries_.begin(); at != entries_.end();) {
        const auto entry = at++;
        const bool is_deleted = !listed_->contains(entry->first) && (version == 0 || entry->second.version <= version);
        if (is_deleted) deleted.push_back(entries_.extract(entry));
      }
      listed_.reset();
      complete_ = true;
    }
    changed_.notify_all();
    for (const Node& node : deleted) on_change_(node.key(), node.mapped().value);
  }

  void SetResult(const Status& result) override {
    {
      const std::lock_guard lock(mutex_);
      result_ = result;
    }
    changed_.notify_all();
  }

 private:
  struct Entry {
    uint64_t version = 0;
    Result<Value> value;
  };

  using Node = typename std::map<Name, Entry>::node_type;

  static Name NameOf(const Json& object) {
    return {TextAt(object, {"metadata", "namespace"}), TextAt(object, {"metadata", "name"})};
  }

  // `is_observed`: the object comes from a list or the watch, not from the answer to a write. Skips versions that the
  // cache already holds, so that an own write is not decoded again when the watch reports it.
  void Store(const Json& object, bool is_observed) {
    const Name name = NameOf(object);
    const uint64_t version = VersionOf(object);
    {
      const std::lock_guard lock(mutex_);
      if (!IsNewer(name, version, is_observed)) return;
    }
    const Result<Value> value = decode_(object);
    {
      const std::lock_guard lock(mutex_);
      if (!IsNewer(name, version, is_observed)) return;  // Another thread changed the object meanwhile.
      entries_.insert_or_assign(name, Entry{version, value});
    }
    on_change_(name, value);
  }

  // Requires: the caller holds the mutex.
  bool IsForbidden() const { return !result_ && result_.error().code == Code::kPermissionDenied; }

  // Requires: the caller holds the mutex.
  bool IsNewer(const Name& name, uint64_t version, bool is_observed) {
    const auto known = entries_.find(name);
    if (is_observed) {
      // The objects of a list in progress do not raise `observed_version_`: only EndList shows which objects were
      // deleted.
      if (listed_)
        listed_->insert(name);
      else
        observed_version_ = std::max(observed_version_, version);
    } else if (known == entries_.end() && version != 0 && version <= observed_version_) {
      return false;
    }
    return known == entries_.end() || version == 0 || version > known->second.version;
  }

  const Decode decode_;
  const OnChange on_change_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<Name, Entry> entries_;
  std::optional<std::set<Name>> listed_;  // The objects of the list in progress; nullopt: no list is in progress.
  uint64_t observed_version_ = 0;         // The newest version that a list or the watch reported.
  bool complete_ = false;
  Status result_{};  // Of the last attempt to read the collection.
};

}  // namespace longshore::kube
