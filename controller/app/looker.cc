#include "controller/app/looker.h"

#include <algorithm>
#include <utility>

#include "common/log.h"
#include "controller/metrics/metrics.h"

namespace longshore::app {
namespace {

std::unique_ptr<metrics::Source> MakeSource(const metrics::Query& query, const Clock& clock,
                                            const MonotonicClock& timer) {
  if (query.prometheus_url.empty()) return metrics::MakeReportSource(query, timer);
  auto source = metrics::MakePrometheusSource(query, clock);
  if (source) return std::move(*source);
  spdlog::error("fleet {}: {}", query.fleet, source.error().message);
  return nullptr;
}

// 0 when it names none that could be read.
int64_t EpochOf(const Json& status) {
  const Json epoch = status.is_object() ? status.value("epoch", Json()) : Json();
  return epoch.is_number_integer() ? epoch.get<int64_t>() : 0;
}

}  // namespace

Looker::Looker(LookerParts parts)
    : parts_(std::move(parts)),
      looks_(parts_.metrics.Counters("longshore_controller_looks_total", "Looks at an object, by kind and result.")),
      store_(runtime::WithFailpoints(parts_.store, parts_.failpoint)),
      nodes_(runtime::WithFailpoints(parts_.nodes, parts_.failpoint)),
      reconciler_({*store_, *nodes_, parts_.fleet, clock_, timer_, parts_.problem_of,
                   [this](const metrics::Query& query) { return MakeSource(query, clock_, timer_); },
                   [this](const api::Key& key, Duration after) { parts_.queue.Add(key, after); },
                   [this](const reconcile::Event& event) {
                     if (parts_.tell) parts_.tell(event);
                   }},
                  {.prometheus_targets = parts_.prometheus_targets}) {}

void Looker::Run() {
  while (const auto key = parts_.queue.Take()) Look(*key);
}

void Looker::Look(const api::Key& key) {
  const auto looked = reconciler_.Reconcile(key);
  parts_.failpoint.Seen();
  looks_.With({{"kind", key.kind}, {"result", looked ? "OK" : std::string(CodeName(looked.error().code))}}).Add();
  if (looked) {
    parts_.queue.Succeeded(key);
    if (*looked) parts_.queue.Add(key, **looked);
    return;
  }
  // Somebody else wrote in between: what is there now is looked at anew.
  if (looked.error().code == Code::kAborted) return parts_.queue.Add(key);
  spdlog::error("{}: {}", ToString(key), looked.error().message);
  parts_.queue.AddAfterFailure(key);
}

api::Key FleetKey(const std::string& fleet) {
  const size_t slash = fleet.find('/');
  return {api::kServingFleetKind, fleet.substr(0, slash), slash == std::string::npos ? "" : fleet.substr(slash + 1)};
}

Result<int64_t> EpochOfStatuses(store::Store& store) {
  int64_t highest = 0;
  for (const char* kind : {api::kModelKind, api::kServingFleetKind}) {
    ASSIGN_OR_RETURN(const store::Listing listing, store.List(kind));
    for (const store::Object& object : listing.objects) highest = std::max(highest, EpochOf(object.status));
  }
  return highest;
}

}  // namespace longshore::app
