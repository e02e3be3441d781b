// Holds or awaits a Lease of the API server, on a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/clock.h"
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
  // With connections of its own, on which nothing may be silent for so long that no time is left to try again before
  // the renew deadline. `epoch_floor`: the highest epoch that is known; may be called on any thread.
  static Result<std::unique_ptr<Leadership>> Start(const kube::Cluster& cluster, const LeaseName& lease,
                                                   const Options& options, const MonotonicClock& clock,
                                                   std::function<int64_t()> epoch_floor);
  ~Leadership();  // Gives the Lease up when it is held: whoever led has stopped before.
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  // Waits for a term to begin, and gives its epoch; 0 after Stop.
  int64_t AwaitTerm();
  // Waits for the end of a term, or for Stop.
  void AwaitEnd(int64_t epoch);
  // Whether the term of this epoch goes on, by the clock. To be asked before everything that only the leader may do.
  bool IsLeading(int64_t epoch) const;
  void Stop();

  std::string holder() const;  // Who leads; "" when nobody is known to.

 private:
  Leadership(std::unique_ptr<kube::Api> api, LeaseName lease, Options options, const MonotonicClock& clock,
             std::function<int64_t()> epoch_floor);
  void Run();
  void Do(const Write& write);
  void Look();
  int64_t EpochAt(MonotonicPoint now) const;

  const std::unique_ptr<kube::Api> api_;
  const LeaseName lease_;
  const Options options_;
  const MonotonicClock& clock_;
  const std::function<int64_t()> epoch_floor_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Election election_;  // Guarded by the mutex, as is:
  bool stopping_ = false;
  Json others_ = Json::object();  // What others wrote into its metadata, which stays.
  std::thread thread_;            // Last: it uses the rest.
};

// As coordination.k8s.io/v1 has it. `now` is for people only; `others`: labels and the like.
Json ToJson(const LeaseName& name, const Lease& lease, TimePoint now, const Json& others = Json::object());
// DataLoss when it is none.
Result<Lease> FromJson(const Json& json);

}  // namespace longshore::leader
