// Keeps a mirror of one collection of the API server, by list and watch, on a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "common/clock.h"
#include "common/json/json.h"
#include "controller/kube/api.h"
#include "controller/kube/list_watch.h"

namespace longshore::kube {

// Who is told what the collection holds. Called on the reflector's thread.
class Mirror {
 public:
  virtual ~Mirror() = default;
  virtual void BeginList() = 0;
  // It is there, now or again. Without managedFields.
  virtual void Put(Json object) = 0;
  virtual void Delete(const Json& object) = 0;
  // The list is whole: what it did not hold, and is not newer than it, is gone.
  virtual void EndList(const std::string& resource_version) = 0;
  // Why the newest try failed; "" when it did not.
  virtual void Trouble(const std::string& why) = 0;
};

struct Collection {
  std::string path;              // "/apis/longshore.dev/v1alpha1/namespaces/vision/models".
  std::string label_selector{};  // "longshore.dev/fleet"
  int page_size = 200;
};

class Reflector {
 public:
  // Begins at once. The mirror outlives it.
  Reflector(std::unique_ptr<Api> api, Collection collection, const MonotonicClock& clock, Mirror& mirror);
  ~Reflector();  // Ends what is under way.
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  int64_t lists() const { return lists_; }        // Begun.
  int64_t events() const { return events_; }      // Bookmarks among them.
  int64_t replayed() const { return replayed_; }  // Events that were not newer than the ones before, and left out.
  // When the server was last heard.
  MonotonicPoint heard_at() const { return MonotonicPoint{Duration(heard_at_.load())}; }

 private:
  void Run();
  void List(const ListPage& page);
  void Watch(const WatchFrom& from);
  void PauseFor(Duration length);
  void Note(const std::string& trouble);
  Status TakeEvent(std::string_view line, Failure* failure);
  void Heard() { heard_at_ = clock_.Now().time_since_epoch().count(); }

  const std::unique_ptr<Api> api_;
  const Collection collection_;
  const MonotonicClock& clock_;
  Mirror& mirror_;
  ListWatch machine_;    // Of the thread, as is:
  uint64_t newest_ = 0;  // Version of the newest event of this watch, where versions are numbers.
  std::string trouble_{};
  std::mt19937_64 random_{std::random_device{}()};
  std::atomic<int64_t> lists_ = 0;
  std::atomic<int64_t> events_ = 0;
  std::atomic<int64_t> replayed_ = 0;
  std::atomic<int64_t> heard_at_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;  // Last: it uses the rest.
};

// metadata.resourceVersion as a number; 0 when it is none. They are comparable by Kubernetes' KEP-5504.
uint64_t VersionOf(const Json& object);

}  // namespace longshore::kube
