// Looks at objects as long as there is something to look at.
//
// Everything is decided on one thread. The writes of statuses wait for answers: a few are under way at once, on threads
// of their own, while other objects are looked at; none of an object that is being written.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "common/file.h"
#include "common/worker.h"
#include "controller/app/look_metrics.h"
#include "controller/fleet/fleet.h"
#include "controller/metrics/metrics.h"
#include "controller/nodes/nodes.h"
#include "controller/reconcile/reconciler.h"
#include "controller/runtime/failpoint.h"
#include "controller/runtime/work_queue.h"
#include "controller/store/store.h"

namespace longshore::app {

// Reports come several times a second from every node; one look answers those that come together.
inline constexpr Duration kReportsTogether = std::chrono::milliseconds(20);

// All references outlive the looker.
struct LookerParts {
  store::Store& store;
  nodes::Registry& nodes;
  fleet::Fleet& fleet;
  runtime::WorkQueue& queue;
  runtime::Failpoint& failpoint;
  LookMetrics& metrics;
  std::function<std::optional<reconcile::SourceProblem>(const api::Key&)> problem_of;
  std::function<void(const reconcile::Event&)> tell{};  // Beside the log; empty: nobody.
  Path prometheus_targets{};                            // As reconcile::Options has it.
  metrics::PrometheusTrust prometheus{};                // For fleets that scale by it.
  size_t writes_max = 1;               // Of statuses, under way at once; 1: nothing else happens meanwhile.
  Duration evidence_unwritten_min{0};  // As reconcile::Options has it.
};

// For one term: what it remembers is what it has seen since it was made.
class Looker {
 public:
  explicit Looker(LookerParts parts);
  ~Looker();

  // Until the queue is stopped.
  void Run();

 private:
  // A look whose write is under way.
  struct Writing {
    reconcile::Look look;
    MonotonicPoint began;
    bool again = false;  // Something came meanwhile: it is to be looked at when this is over.
  };
  struct Written {
    api::Key key;
    Status status;
  };

  void LookAt(const api::Key& key);
  void Write(const api::Key& key, reconcile::Look look, MonotonicPoint began);
  bool FinishWritten();
  void Finish(const api::Key& key, const reconcile::Looked& looked, MonotonicPoint began);

  const LookerParts parts_;
  const SystemClock clock_;
  const SteadyClock timer_;
  const std::unique_ptr<store::Store> store_;  // With failpoints, as is:
  const std::unique_ptr<nodes::Registry> nodes_;
  reconcile::Reconciler reconciler_;
  std::map<api::Key, Writing> writing_;
  size_t next_writer_ = 0;
  std::mutex mutex_;
  std::condition_variable has_written_;
  std::vector<Written> written_;                  // Guarded by the mutex.
  std::vector<std::unique_ptr<Worker>> writers_;  // Last: they use the rest.
};

// The highest epoch of any status; no term may be below it.
Result<int64_t> EpochOfStatuses(store::Store& store);

}  // namespace longshore::app
