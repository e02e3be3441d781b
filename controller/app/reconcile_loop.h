// The reconcile loop: takes objects from the work queue and reconciles them.
//
// All decisions are made on one thread. Status writes wait for the API server, so a few of them run concurrently on
// separate threads while other objects are reconciled; an object is not reconciled while its status is being written.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "common/base/clock.h"
#include "common/os/file.h"
#include "common/os/worker.h"
#include "controller/app/reconcile_metrics.h"
#include "controller/fleet/fleet.h"
#include "controller/nodes/nodes.h"
#include "controller/reconcile/reconciler.h"
#include "controller/reconcile/targets_file.h"
#include "controller/runtime/failpoint.h"
#include "controller/runtime/work_queue.h"
#include "controller/signals/signals.h"
#include "controller/store/store.h"

namespace longshore::app {

// Each node sends reports several times a second. One reconciliation handles all reports of a fleet that arrive within
// this time.
inline constexpr Duration kReportBatchWindow = std::chrono::milliseconds(20);

// All referenced objects must outlive the loop.
struct ReconcileLoopContext {
  store::Store& store;
  nodes::Registry& nodes;
  fleet::Fleet& fleet;
  runtime::WorkQueue& queue;
  runtime::Failpoint& failpoint;
  ReconcileMetrics& metrics;
  std::function<std::optional<reconcile::SourceProblem>(const api::Key&)> problem_of;
  std::function<void(const reconcile::Event&)> on_event{};  // Called in addition to logging; may be empty.
  reconcile::TargetsFile* targets = nullptr;                // See reconcile::Options.
  signals::PrometheusTrust prometheus{};                    // CAs and token for the Prometheus servers of fleets.
  size_t writes_max = 1;               // Limit of concurrent status writes; 1: writes block the loop.
  Duration evidence_unwritten_min{0};  // See reconcile::Options, as for model_pause.
  Duration model_pause{0};
  // Called after each reconciliation, and once a second while the queue is empty, but not while a reconciliation hangs;
  // may be empty.
  std::function<void()> is_alive{};
  reconcile::FailedFiles* failed_files = nullptr;  // See reconcile::Deps.
};

// Reconciles during one term of leadership, and uses only what it has observed since it was created.
class ReconcileLoop {
 public:
  explicit ReconcileLoop(ReconcileLoopContext context);
  ~ReconcileLoop();

  // Blocks until the queue is stopped.
  void Run();

 private:
  // A reconciliation whose status write is in progress.
  struct Writing {
    reconcile::Reconciliation reconciliation;
    MonotonicPoint began;
    bool again = false;  // Whether the object must be reconciled again after this write.
  };
  struct Written {
    api::Key key;
    Status status;
  };

  void Reconcile(const api::Key& key);
  void Write(const api::Key& key, reconcile::Reconciliation reconciliation, MonotonicPoint began);
  bool FinishWritten();
  void Finish(const api::Key& key, const reconcile::Outcome& outcome, MonotonicPoint began);

  const ReconcileLoopContext context_;
  const SystemClock clock_;
  const SteadyClock timer_;
  const std::unique_ptr<store::Store> store_;  // The store with failpoints; `nodes_`: the registry with them.
  const std::unique_ptr<nodes::Registry> nodes_;
  reconcile::Reconciler reconciler_;
  std::map<api::Key, Writing> writing_;
  size_t next_writer_ = 0;
  std::mutex mutex_;
  std::condition_variable has_written_;
  std::vector<Written> written_;  // Guarded by the mutex.
  // Last, so that the writers are destroyed first: they use the other members.
  std::vector<std::unique_ptr<Worker>> writers_;
};

// Returns the highest epoch in the status of any object; 0 if no status has one. The epoch of a new term must be above
// it.
Result<int64_t> EpochOfStatuses(store::Store& store);

}  // namespace longshore::app
