// Metrics of reconciliations and, while this controller reconciles the objects, also of the objects.
#pragma once

#include <map>
#include <mutex>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/metrics/metrics.h"
#include "controller/api/types.h"
#include "controller/exposition/exposition.h"
#include "controller/store/store.h"

namespace longshore::app {

// Thread-safe. The registry must not be read after this object is destroyed.
class ReconcileMetrics {
 public:
  explicit ReconcileMetrics(metrics::Registry& registry);

  void Reconciled(const api::Key& key, Code result, Duration took);
  // Counts a rollout that reached the phase Completed or RolledBack.
  void Ended(const api::Key& model, const api::RolloutStatus& rollout, TimePoint now);

  // Sets the store whose objects the metrics show; with nullptr they show no objects. Waits until a read of the
  // previous store has ended.
  void ShowObjectsOf(store::Store* store);

 private:
  void ShowObjects(metrics::Page* out);

  metrics::Family<metrics::Counter> reconciliations_;
  metrics::Family<metrics::Histogram> reconcile_seconds_;
  metrics::Family<metrics::Histogram> rollout_seconds_;
  std::mutex store_mutex_;         // Held while the objects are read, which may take a second.
  store::Store* store_ = nullptr;  // Guarded by `store_mutex_`.
  std::mutex mutex_;
  std::map<api::Key, exposition::Outcomes> outcomes_{};  // Only for Models that exist. Guarded by `mutex_`.
};

}  // namespace longshore::app
