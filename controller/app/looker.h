// Looks at objects, a few at a time, as long as there is something to look at.
//
// Everything is decided on one thread; only the writes of a few objects' statuses are under way at once, as each waits
// for an answer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "common/file.h"
#include "common/worker.h"
#include "controller/app/look_metrics.h"
#include "controller/fleet/fleet.h"
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
  size_t writes_max = 1;                                // Of statuses, under way at once.
};

// For one term: what it remembers is what it has seen since it was made.
class Looker {
 public:
  explicit Looker(LookerParts parts);
  ~Looker();

  // Until the queue is stopped.
  void Run();

 private:
  void LookAt(const std::vector<api::Key>& keys);
  std::vector<Status> Write(const std::vector<Result<reconcile::Look>>& looks);
  void Finish(const api::Key& key, const reconcile::Looked& looked);

  const LookerParts parts_;
  const SystemClock clock_;
  const SteadyClock timer_;
  const std::unique_ptr<store::Store> store_;  // With failpoints, as is:
  const std::unique_ptr<nodes::Registry> nodes_;
  reconcile::Reconciler reconciler_;
  std::vector<std::unique_ptr<Worker>> writers_;  // Last: they use the rest.
};

// The highest epoch of any status; no term may be below it.
Result<int64_t> EpochOfStatuses(store::Store& store);

}  // namespace longshore::app
