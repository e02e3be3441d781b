// Keeps a mirror of one collection of the API server up to date by list and watch, on a separate thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "common/base/clock.h"
#include "common/json/json.h"
#include "controller/kube/api.h"
#include "controller/kube/list_watch.h"

namespace longshore::kube {

// Receives the contents of the collection. Called on the reflector's thread.
class Mirror {
 public:
  virtual ~Mirror() = default;
  virtual void BeginList() = 0;
  // The object exists, and may have existed before. It has no managedFields.
  virtual void Put(Json object) = 0;
  virtual void Delete(const Json& object) = 0;
  // The list is complete: objects that it did not contain, and that are not newer than it, were deleted.
  virtual void EndList(const std::string& resource_version) = 0;
  // Reports the result of the last attempt to list or watch.
  virtual void SetResult(const Status& result) = 0;
};

struct Collection {
  std::string path;              // "/apis/longshore.dev/v1alpha1/namespaces/vision/models".
  std::string label_selector{};  // "longshore.dev/fleet"
  int page_size = 200;
};

class Reflector {
 public:
  // Starts immediately. The mirror must outlive the reflector.
  Reflector(std::unique_ptr<Api> api, Collection collection, const MonotonicClock& clock, Mirror& mirror);
  ~Reflector();  // Cancels the current request.
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  int64_t lists() const { return lists_; }        // Number of lists that were started.
  int64_t events() const { return events_; }      // Number of events, including bookmarks.
  int64_t replayed() const { return replayed_; }  // Number of ignored events: those not newer than the previous ones.
  // The time of the last list or event from the server.
  MonotonicPoint last_answer_at() const { return MonotonicPoint{Duration(last_answer_at_.load())}; }

 private:
  void Run();
  void List(const ListPage& page);
  void Watch(const WatchFrom& from);
  void PauseFor(Duration length);
  void Report(const Status& result);
  Status HandleEvent(std::string_view line, Failure* failure);
  void RecordAnswer() { last_answer_at_ = clock_.Now().time_since_epoch().count(); }

  const std::unique_ptr<Api> api_;
  const Collection collection_;
  const MonotonicClock& clock_;
  Mirror& mirror_;
  ListWatch machine_;    // Used only on the thread, as are the next three.
  uint64_t newest_ = 0;  // Version of the newest event of this watch, if versions are numbers.
  std::string error_{};
  std::mt19937_64 random_{std::random_device{}()};
  std::atomic<int64_t> lists_ = 0;
  std::atomic<int64_t> events_ = 0;
  std::atomic<int64_t> replayed_ = 0;
  std::atomic<int64_t> last_answer_at_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;  // Last, so that it is destroyed first: its thread uses the other members.
};

// Returns metadata.resourceVersion as a number; 0 if it is not a number. KEP-5504 of Kubernetes makes resourceVersions
// comparable.
uint64_t VersionOf(const Json& object);

}  // namespace longshore::kube
