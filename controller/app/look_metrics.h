// What /metrics shows of the looks at objects, and of the objects themselves while somebody looks at them.
#pragma once

#include <map>
#include <mutex>

#include "common/clock.h"
#include "common/error.h"
#include "common/metrics/metrics.h"
#include "controller/api/types.h"
#include "controller/exposition/exposition.h"
#include "controller/store/store.h"

namespace longshore::app {

// Thread-safe. The registry is read no more when this goes.
class LookMetrics {
 public:
  explicit LookMetrics(metrics::Registry& registry);

  void Looked(const api::Key& key, Code result, Duration took);
  // A rollout came to Completed or RolledBack.
  void Ended(const api::Key& model, const api::RolloutStatus& rollout, TimePoint now);

  // From now on the objects of this store are shown, or none. Waits for a reading of the one before.
  void ShowObjectsOf(store::Store* store);

 private:
  void ShowObjects(metrics::Page* out);

  metrics::Family<metrics::Counter> looks_;
  metrics::Family<metrics::Histogram> look_seconds_;
  metrics::Family<metrics::Histogram> rollout_seconds_;
  std::mutex store_mutex_;         // Held while the objects are read, which may take a second.
  store::Store* store_ = nullptr;  // Guarded by it.
  std::mutex mutex_;
  std::map<api::Key, exposition::Outcomes> outcomes_{};  // Of Models that are there. Guarded by `mutex_`.
};

}  // namespace longshore::app
