#include "controller/app/looker.h"

#include <algorithm>
#include <utility>

#include "common/log.h"

namespace longshore::app {
namespace {

constexpr std::chrono::seconds kAliveInterval{1};

std::unique_ptr<metrics::Source> MakeSource(const metrics::Query& query, const metrics::PrometheusTrust& trust,
                                            const Clock& clock, const MonotonicClock& timer) {
  if (query.prometheus_url.empty()) return metrics::MakeReportSource(query, timer);
  auto source = metrics::MakePrometheusSource(query, clock, {.trust = trust});
  if (source) return std::move(*source);
  spdlog::error("fleet {}: {}", query.fleet, source.error().message);
  return nullptr;
}

// 0 if the status has no readable epoch.
int64_t EpochOf(const Json& status) {
  const Json epoch = status.is_object() ? status.value("epoch", Json()) : Json();
  return epoch.is_number_integer() ? epoch.get<int64_t>() : 0;
}

}  // namespace

ReconcileLoop::ReconcileLoop(ReconcileLoopParts parts)
    : parts_(std::move(parts)),
      store_(runtime::WithFailpoints(parts_.store, parts_.failpoint)),
      nodes_(runtime::WithFailpoints(parts_.nodes, parts_.failpoint)),
      reconciler_(
          {*store_, *nodes_, parts_.fleet, clock_, timer_, parts_.problem_of,
           [this](const metrics::Query& query) { return MakeSource(query, parts_.prometheus, clock_, timer_); },
           [this](const api::Key& key, Duration after) { parts_.queue.Add(key, after); },
           [this](const reconcile::Event& event) {
             if (parts_.tell) parts_.tell(event);
           },
           [this](const api::Key& key, const api::RolloutStatus& rollout) {
             parts_.metrics.Ended(key, rollout, clock_.Now());
           }},
          {.prometheus_targets = parts_.prometheus_targets, .evidence_unwritten_min = parts_.evidence_unwritten_min}) {
  parts_.metrics.ShowObjectsOf(&parts_.store);
  for (size_t i = 0; parts_.writes_max > 1 && i < parts_.writes_max; ++i)
    writers_.push_back(std::make_unique<Worker>());
}

ReconcileLoop::~ReconcileLoop() { parts_.metrics.ShowObjectsOf(nullptr); }

void ReconcileLoop::Run() {
  while (!parts_.queue.is_stopped()) {
    if (FinishWritten()) continue;
    if (const auto key = parts_.queue.Take(kAliveInterval)) Reconcile(*key);
    if (parts_.is_alive) parts_.is_alive();
  }
  while (!writing_.empty()) FinishWritten();
}

void ReconcileLoop::Reconcile(const api::Key& key) {
  if (const auto writing = writing_.find(key); writing != writing_.end()) {
    writing->second.again = true;
    return;
  }
  const MonotonicPoint began = timer_.Now();
  Result<reconcile::Reconciliation> reconciliation = reconciler_.Begin(key);
  if (!reconciliation) return Finish(key, tl::make_unexpected(reconciliation.error()), began);
  if (!reconciliation->write) return Finish(key, reconciliation->finish({}), began);
  if (writers_.empty()) return Finish(key, reconciliation->finish(reconciler_.Write(*reconciliation->write)), began);
  Write(key, std::move(*reconciliation), began);
}

void ReconcileLoop::Write(const api::Key& key, reconcile::Reconciliation reconciliation, MonotonicPoint began) {
  const auto at = writing_.emplace(key, Writing{std::move(reconciliation), began}).first;
  const auto write = [this, key, &what = *at->second.reconciliation.write] {
    Status status = reconciler_.Write(what);
    {
      const std::lock_guard lock(mutex_);
      written_.push_back({key, std::move(status)});
    }
    has_written_.notify_one();
    parts_.queue.Nudge();
  };
  next_writer_ = (next_writer_ + 1) % writers_.size();
  CHECK(writers_[next_writer_]->Post(write));  // Never full: at most as many writes wait as there are writers.
}

// Finishes the reconciliations whose writes are done; returns false if there were none. Waits for one if the limit of
// concurrent writes is reached, or if the queue is stopped.
bool ReconcileLoop::FinishWritten() {
  std::vector<Written> written;
  {
    std::unique_lock lock(mutex_);
    const bool is_full = !writers_.empty() && writing_.size() >= writers_.size();
    const bool is_last = !writing_.empty() && parts_.queue.is_stopped();
    if (is_full || is_last) has_written_.wait(lock, [this] { return !written_.empty(); });
    written.swap(written_);
  }
  for (const Written& one : written) {
    const auto writing = writing_.extract(one.key);
    const Writing& its = writing.mapped();
    Finish(one.key, its.reconciliation.finish(one.status), its.began);
    if (its.again) parts_.queue.Add(one.key);
  }
  return !written.empty();
}

void ReconcileLoop::Finish(const api::Key& key, const reconcile::Outcome& outcome, MonotonicPoint began) {
  parts_.metrics.Reconciled(key, outcome ? Code::kOk : outcome.error().code, timer_.Now() - began);
  parts_.failpoint.Seen();
  if (outcome) {
    parts_.queue.Succeeded(key);
    if (*outcome) parts_.queue.Add(key, **outcome);
    return;
  }
  // The object changed before the write: reconcile its new state.
  if (outcome.error().code == Code::kAborted) return parts_.queue.Add(key);
  if (outcome.error().code == Code::kCancelled) return;  // The controller stops; the next one reconciles all objects.
  spdlog::error("{}: {}", ToString(key), outcome.error().message);
  parts_.queue.AddAfterFailure(key);
}

Result<int64_t> EpochOfStatuses(store::Store& store) {
  int64_t highest = 0;
  for (const char* kind : {api::kModelKind, api::kServingFleetKind}) {
    ASSIGN_OR_RETURN(const std::vector<api::Key> keys, store.Keys(kind));
    for (const api::Key& key : keys) {
      if (const auto object = store.Get(key)) highest = std::max(highest, EpochOf(object->status));
    }
  }
  return highest;
}

}  // namespace longshore::app
