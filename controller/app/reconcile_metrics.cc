#include "controller/app/reconcile_metrics.h"

#include <string>

#include "common/os/log.h"
#include "controller/store/document.h"

namespace longshore::app {
namespace {

constexpr metrics::Name kObjects{"longshore_controller_objects", "Number of objects, by kind."};
constexpr metrics::Name kUnreadable{"longshore_controller_unreadable_objects",
                                    "Number of objects that cannot be read, by kind; they have no other metrics."};

// Buckets of rollout durations, in seconds: from a second to a week.
std::vector<double> RolloutBuckets() {
  return {1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400, 604800};
}

// Adds the metrics of all objects of one kind: calls `show` for each readable object, and counts all objects and the
// unreadable ones. Returns false if the objects cannot be listed.
template <typename Read, typename Show>
bool ShowKind(const char* kind, store::Store& store, Read read, Show show, metrics::Page* out) {
  const auto keys = store.Keys(kind);
  if (!keys) return false;
  double all = 0, unreadable = 0;
  for (const api::Key& key : *keys) {
    const auto object = store.Get(key);
    if (!object && object.error().code == Code::kNotFound) continue;  // It was deleted in the meantime.
    const auto value = object ? read(*object) : tl::make_unexpected(object.error());
    metrics::Exposition shown;
    if (value) show(key, *value, &shown);
    out->Append(shown);
    ++all;
    if (!value) ++unreadable;
  }
  metrics::Exposition counts;
  counts.Set(kObjects, {{"kind", kind}}, all);
  counts.Set(kUnreadable, {{"kind", kind}}, unreadable);
  out->Append(counts);
  return true;
}

}  // namespace

ReconcileMetrics::ReconcileMetrics(metrics::Registry& registry)
    : reconciliations_(registry.Counters("longshore_controller_reconciles_total",
                                         "Reconciliations of objects, by kind and result.")),
      reconcile_seconds_(
          registry.Histograms("longshore_controller_reconcile_seconds", "Duration of one reconciliation, by kind.")),
      rollout_seconds_(registry.Histograms("longshore_rollout_seconds", "Duration of finished rollouts, by result.",
                                           RolloutBuckets())) {
  registry.AddPageSource([this](metrics::Page* out) { ShowObjects(out); });
}

void ReconcileMetrics::Reconciled(const api::Key& key, Code result, Duration took) {
  reconciliations_.With({{"kind", key.kind}, {"result", std::string(CodeName(result))}}).Add();
  reconcile_seconds_.With({{"kind", key.kind}}).Observe(std::chrono::duration<double>(took).count());
}

void ReconcileMetrics::Ended(const api::Key& model, const api::RolloutStatus& rollout, TimePoint now) {
  const std::string result(api::RolloutPhaseName(rollout.phase));
  rollout_seconds_.With({{"result", result}}).Observe(std::chrono::duration<double>(now - rollout.started_at).count());
  const std::lock_guard lock(mutex_);
  exposition::Outcomes& outcomes = outcomes_[model];
  ++(rollout.phase == api::RolloutPhase::kCompleted ? outcomes.completed : outcomes.rolled_back);
}

void ReconcileMetrics::ShowObjectsOf(store::Store* store) {
  const std::lock_guard lock(store_mutex_);
  store_ = store;
}

void ReconcileMetrics::ShowObjects(metrics::Page* out) {
  const std::lock_guard lock(store_mutex_);
  if (store_ == nullptr) return;
  std::map<api::Key, exposition::Outcomes> outcomes;
  {
    const std::lock_guard copying(mutex_);
    outcomes = outcomes_;
  }
  const bool is_listed = ShowKind(
      api::kModelKind, *store_, store::ToModel,
      [&](const api::Key& key, const api::Model& model, metrics::Exposition* shown) {
        const auto outcome = outcomes.extract(key);
        exposition::Show(model, outcome ? outcome.mapped() : exposition::Outcomes(), shown);
      },
      out);
  ShowKind(
      api::kServingFleetKind, *store_, store::ToFleet,
      [](const api::Key&, const api::ServingFleet& fleet, metrics::Exposition* shown) {
        exposition::Show(fleet, shown);
      },
      out);
  if (!is_listed) return;
  const std::lock_guard erasing(mutex_);
  for (const auto& [deleted, _] : outcomes) outcomes_.erase(deleted);
}

}  // namespace longshore::app
