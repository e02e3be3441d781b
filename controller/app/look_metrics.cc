#include "controller/app/look_metrics.h"

#include <algorithm>
#include <set>
#include <string>

#include "common/log.h"
#include "controller/store/document.h"

namespace longshore::app {
namespace {

constexpr metrics::Name kObjects{"longshore_controller_objects", "Objects that are there, by kind."};
constexpr metrics::Name kUnreadable{"longshore_controller_unreadable_objects",
                                    "Those of them that cannot be read; of these nothing else is shown."};

// From a second to a week.
std::vector<double> RolloutBuckets() {
  return {1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400, 604800};
}

// Calls `show` with what can be read of each, and counts them all.
template <typename Read, typename Show>
void ShowKind(const char* kind, const store::Listing& listing, Read read, Show show, metrics::Exposition* out) {
  size_t unreadable = listing.unreadable.size();
  for (const store::Object& object : listing.objects) {
    if (const auto value = read(object)) {
      show(*value);
    } else {
      ++unreadable;
    }
  }
  const size_t all = listing.objects.size() + listing.unreadable.size();
  out->Set(kObjects, {{"kind", kind}}, static_cast<double>(all));
  out->Set(kUnreadable, {{"kind", kind}}, static_cast<double>(unreadable));
}

}  // namespace

LookMetrics::LookMetrics(metrics::Registry& registry)
    : looks_(registry.Counters("longshore_controller_looks_total", "Looks at an object, by kind and result.")),
      look_seconds_(
          registry.Histograms("longshore_controller_look_seconds", "How long looks took; there is one at a time.")),
      rollout_seconds_(registry.Histograms("longshore_rollout_seconds", "From a rollout's begin to its end, by result.",
                                           RolloutBuckets())) {
  registry.AddSource([this](metrics::Exposition* out) { ShowObjects(out); });
}

void LookMetrics::Looked(const api::Key& key, Code result, Duration took) {
  looks_.With({{"kind", key.kind}, {"result", std::string(CodeName(result))}}).Add();
  look_seconds_.With({{"kind", key.kind}}).Observe(std::chrono::duration<double>(took).count());
}

void LookMetrics::Ended(const api::Key& model, const api::RolloutStatus& rollout, TimePoint now) {
  const std::string result(api::RolloutPhaseName(rollout.phase));
  rollout_seconds_.With({{"result", result}}).Observe(std::chrono::duration<double>(now - rollout.started_at).count());
  const std::lock_guard lock(mutex_);
  exposition::Outcomes& outcomes = outcomes_[model];
  ++(rollout.phase == api::RolloutPhase::kCompleted ? outcomes.completed : outcomes.rolled_back);
}

void LookMetrics::ShowObjectsOf(store::Store* store) {
  const std::lock_guard lock(mutex_);
  store_ = store;
}

void LookMetrics::ShowObjects(metrics::Exposition* out) {
  const std::lock_guard lock(mutex_);
  if (store_ == nullptr) return;
  const auto models = store_->List(api::kModelKind);
  const auto fleets = store_->List(api::kServingFleetKind);
  if (!models || !fleets) return;
  std::set<api::Key> there;
  ShowKind(
      api::kModelKind, *models, store::ToModel,
      [&](const api::Model& model) {
        const api::Key key{api::kModelKind, model.metadata.namespace_, model.metadata.name};
        there.insert(key);
        exposition::Show(model, outcomes_[key], out);
      },
      out);
  ShowKind(
      api::kServingFleetKind, *fleets, store::ToFleet,
      [&](const api::ServingFleet& fleet) { exposition::Show(fleet, out); }, out);
  std::erase_if(outcomes_, [&](const auto& entry) { return !there.contains(entry.first); });
}

}  // namespace longshore::app
