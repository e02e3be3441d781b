// Holds or awaits a Lease of the API server, on a separate thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/base/clock.h"
#include "controller/kube/api.h"
#include "controller/leader/election.h"

namespace longshore::leader {

struct LeaseName {
  std::string namespace_;
  std::string name;
};

// Thread-safe.
class Leadership {
 public:
  // Uses separate connections whose timeout leaves time for a retry before the renew deadline. `epoch_floor` returns
  // the highest known epoch; it may be called on any thread.
  static Result<std::unique_ptr<Leadership>> Start(const kube::Cluster& cluster, const LeaseName& lease,
                                                   const Options& options, const MonotonicClock& clock,
                                                   std::function<int64_t()> epoch_floor);
  ~Leadership();  // Releases the Lease if it is held. All work of the leader must have stopped before.
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  // Waits until a term begins and returns its epoch; returns 0 after Stop.
  int64_t AwaitTerm();
  // Waits until the term of this epoch ends, or until Stop.
  void AwaitEnd(int64_t epoch);
  // Whether the term of this epoch has not ended according to the clock. Call it before each action that only the
  // leader may take.
  bool IsLeading(int64_t epoch) const;
  void Stop();

  std::string holder() const;  // The identity of the leader; "" if it is not known.

 private:
  Leadership(std::unique_ptr<kube::Api> api, LeaseName lease, Options options, const MonotonicClock& clock,
             std::function<int64_t()> epoch_floor);
  void Run();
  void WriteLease(const Write& write);
  void ReadLease();
  int64_t EpochAt(MonotonicPoint now) const;
  // The metadata of the next write: that of other clients, and the annotations of this one.
  Json Metadata() const;

  const std::unique_ptr<kube::Api> api_;
  const LeaseName lease_;
  const Options options_;
  const MonotonicClock& clock_;
  const std::function<int64_t()> epoch_floor_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Election election_;  // Guarded by the mutex, as is `stopping_`.
  bool stopping_ = false;
  // Labels and other metadata that other clients set. Writes of the Lease keep them.
  Json foreign_metadata_ = Json::object();
  std::thread thread_;  // Last, so that it is destroyed first: its thread uses the other members.
};

// Formats a Lease of coordination.k8s.io/v1. `now` is informational. `foreign_metadata`: labels and other metadata that
// other clients set.
Json ToJson(const LeaseName& name, const Lease& lease, TimePoint now, const Json& foreign_metadata = Json::object());
// Returns DataLoss if the JSON is not a Lease.
Result<Lease> FromJson(const Json& json);

}  // namespace longshore::leader
