// What is known of one collection: a mirror of decoded objects, with our own writes in it before the watch tells them.
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

#include "common/error.h"
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
  // What is kept of an object; an error is kept in its place.
  using Decode = std::function<Result<Value>(const Json& object)>;
  // Called without a lock, on the thread that changed it. `value`: as it is now, or was before it went.
  using OnChange = std::function<void(const Name& name, const Result<Value>& value)>;

  Cache(Decode decode, OnChange on_change) : decode_(std::move(decode)), on_change_(std::move(on_change)) {}

  // nullopt: it is not there.
  std::optional<Result<Value>> Get(const Name& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    if (found == entries_.end()) return std::nullopt;
    return found->second.value;
  }

  // In order.
  void ForEach(const std::function<void(const Name&, const Result<Value>&)>& visit) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : entries_) visit(name, entry.value);
  }

  // Whether a whole list has come.
  bool is_complete() const {
    const std::lock_guard lock(mutex_);
    return complete_;
  }

  // Until the first list is whole. Unavailable, saying what keeps it from being, after the time.
  Status WaitUntilComplete(std::chrono::milliseconds time) const {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, time, [this] { return complete_; })) return {};
    return Unavailable("{}", trouble_.empty() ? "no whole list came in time" : trouble_);
  }

  std::string trouble() const {
    const std::lock_guard lock(mutex_);
    return trouble_;
  }

  void BeginList() override {
    const std::lock_guard lock(mutex_);
    listed_.emplace();
  }

  void Put(Json object) override { Take(object, true); }

  // What a write of ours was answered: before the watch tells it. Where the watch is past it already, it tells nothing:
  // the object may have been deleted since.
  void Learn(const Json& object) { Take(object, false); }

  void Delete(const Json& object) override {
    const Name name = NameOf(object);
    const uint64_t version = VersionOf(object);
    Node gone;
    {
      const std::lock_guard lock(mutex_);
      heard_ = std::max(heard_, version);
      const auto found = entries_.find(name);
      if (found == entries_.end() || (version != 0 && found->second.version > version)) return;
      gone = entries_.extract(found);
    }
    on_change_(name, gone.mapped().value);
  }

  void EndList(const std::string& resource_version) override {
    const uint64_t version = VersionOf({{"metadata", {{"resourceVersion", resource_version}}}});
    std::vector<Node> gone;
    {
      const std::lock_guard lock(mutex_);
      heard_ = std::max(heard_, version);
      for (auto at = entries_.begin(); at != entries_.end();) {
        const auto entry = at++;
        const bool is_gone = !listed_->contains(entry->first) && (version == 0 || entry->second.version <= version);
        if (is_gone) gone.push_back(entries_.extract(entry));
      }
      listed_.reset();
      complete_ = true;
    }
    changed_.notify_all();
    for (const Node& node : gone) on_change_(node.key(), node.mapped().value);
  }

  void Trouble(const std::string& why) override {
    const std::lock_guard lock(mutex_);
    trouble_ = why;
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

  // Of our own writes the watch tells what is known: that is not decoded again.
  void Take(const Json& object, bool is_heard) {
    const Name name = NameOf(object);
    const uint64_t version = VersionOf(object);
    {
      const std::lock_guard lock(mutex_);
      if (!IsNews(name, version, is_heard)) return;
    }
    const Result<Value> value = decode_(object);
    {
      const std::lock_guard lock(mutex_);
      if (!IsNews(name, version, is_heard)) return;  // It came or went meanwhile.
      entries_.insert_or_assign(name, Entry{version, value});
    }
    on_change_(name, value);
  }

  // With the mutex held.
  bool IsNews(const Name& name, uint64_t version, bool is_heard) {
    const auto known = entries_.find(name);
    if (is_heard) {
      // A list's objects are older than the list is, and of it nothing has been deleted.
      if (listed_)
        listed_->insert(name);
      else
        heard_ = std::max(heard_, version);
    } else if (known == entries_.end() && version != 0 && version <= heard_) {
      return false;
    }
    return known == entries_.end() || version == 0 || version > known->second.version;
  }

  const Decode decode_;
  const OnChange on_change_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<Name, Entry> entries_;
  std::optional<std::set<Name>> listed_;  // By the list that is under way.
  uint64_t heard_ = 0;                    // The newest version that a list or the watch has told.
  bool complete_ = false;
  std::string trouble_;
};

}  // namespace longshore::kube
