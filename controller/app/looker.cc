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
      store_(runtime::WithFailpoints(parts_.store, parts_.failpoint)),
      nodes_(runtime::WithFailpoints(parts_.nodes, parts_.failpoint)),
      reconciler_({*store_, *nodes_, parts_.fleet, clock_, timer_, parts_.problem_of,
                   [this](const metrics::Query& query) { return MakeSource(query, clock_, timer_); },
                   [this](const api::Key& key, Duration after) { parts_.queue.Add(key, after); },
                   [this](const reconcile::Event& event) {
                     if (parts_.tell) parts_.tell(event);
                   },
                   [this](const api::Key& key, const api::RolloutStatus& rollout) {
                     parts_.metrics.Ended(key, rollout, clock_.Now());
                   }},
                  {.prometheus_targets = parts_.prometheus_targets}) {
  parts_.metrics.ShowObjectsOf(&parts_.store);
  for (size_t i = 1; i < parts_.writes_max; ++i) writers_.push_back(std::make_unique<Worker>());
}

Looker::~Looker() { parts_.metrics.ShowObjectsOf(nullptr); }

void Looker::Run() {
  for (;;) {
    const std::vector<api::Key> keys = parts_.queue.TakeSome(parts_.writes_max);
    if (keys.empty()) return;
    LookAt(keys);
  }
}

void Looker::LookAt(const std::vector<api::Key>& keys) {
  const MonotonicPoint began = timer_.Now();
  std::vector<Result<reconcile::Look>> looks;
  for (const api::Key& key : keys) looks.push_back(reconciler_.Begin(key));
  const std::vector<Status> written = Write(looks);
  for (size_t i = 0; i < keys.size(); ++i) {
    const reconcile::Looked looked = looks[i] ? looks[i]->finish(written[i]) : tl::make_unexpected(looks[i].error());
    parts_.metrics.Looked(keys[i], looked ? Code::kOk : looked.error().code, timer_.Now() - began);
    Finish(keys[i], looked);
  }
}

// What became of each look's write; OK where there is none.
std::vector<Status> Looker::Write(const std::vector<Result<reconcile::Look>>& looks) {
  std::vector<Status> written(looks.size());
  const auto write = [&](size_t i) { written[i] = reconciler_.Write(*looks[i]->write); };
  std::vector<size_t> writes;
  for (size_t i = 0; i < looks.size(); ++i) {
    if (looks[i] && looks[i]->write) writes.push_back(i);
  }
  for (size_t w = 1; w < writes.size(); ++w) {
    CHECK(writers_[w - 1]->Post([&write, i = writes[w]] { write(i); }));  // Each has one at a time.
  }
  if (!writes.empty()) write(writes[0]);
  for (size_t w = 1; w < writes.size(); ++w) writers_[w - 1]->Flush();
  return written;
}

void Looker::Finish(const api::Key& key, const reconcile::Looked& looked) {
  parts_.failpoint.Seen();
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

Result<int64_t> EpochOfStatuses(store::Store& store) {
  int64_t highest = 0;
  for (const char* kind : {api::kModelKind, api::kServingFleetKind}) {
    ASSIGN_OR_RETURN(const store::Listing listing, store.List(kind));
    for (const store::Object& object : listing.objects) highest = std::max(highest, EpochOf(object.status));
  }
  return highest;
}

}  // namespace longshore::app
