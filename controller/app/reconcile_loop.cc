#include "controller/app/reconcile_loop.h"

#include <algorithm>
#include <utility>

#include "common/os/log.h"

namespace longshore::app {
namespace {

constexpr std::chrono::seconds kAliveInterval{1};

std::unique_ptr<signals::Source> MakeSource(const signals::Query& query, const signals::PrometheusTrust& trust,
                                            const Clock& clock, const MonotonicClock& timer) {
  if (query.prometheus_url.empty()) return signals::MakeReportSource(query, timer);
  auto source = signals::MakePrometheusSource(query, clock, {.trust = trust});
  if (source) return std::move(*source);
  spdlog::error("fleet {}: {}", query.fleet, source.error().message);
  return nullptr;
}

// Returns 0 if the status has no readable epoch.
int64_t EpochOf(const Json& status) {
  const Json epoch = status.is_object() ? status.value("epoch", Json()) : Json();
  return epoch.is_number_integer() ? epoch.get<int64_t>() : 0;
}

}  // namespace

ReconcileLoop::ReconcileLoop(ReconcileLoopContext context)
    : context_(std::move(context)),
      store_(runtime::WithFailpoints(context_.store, context_.failpoint)),
      nodes_(runtime::WithFailpoints(context_.nodes, context_.failpoint)),
      reconciler_(
          {*store_, *nodes_, context_.fleet, clock_, timer_, context_.problem_of,
           [this](const signals::Query& query) { return MakeSource(query, context_.prometheus, clock_, timer_); },
           [this](const api::Key& key, Duration after) { context_.queue.Add(key, after); },
           [this](const reconcile::Event& event) {
             if (context_.on_event) context_.on_event(event);
           },
           [this](const api::Key& key, const api::RolloutStatus& rollout) {
             context_.metrics.Ended(key, rollout, clock_.Now());
           },
           context_.failed_files},
          {.targets = context_.targets,
           .model_pause = context_.model_pause,
           .evidence_unwritten_min = context_.evidence_unwritten_min}) {
  context_.metrics.ShowObjectsOf(&context_.store);
  for (size_t i = 0; context_.writes_max > 1 && i < context_.writes_max; ++i)
    writers_.push_back(std::make_unique<Worker>());
}

ReconcileLoop::~ReconcileLoop() { context_.metrics.ShowObjectsOf(nullptr); }

void ReconcileLoop::Run() {
  while (!context_.queue.is_stopped()) {
    if (FinishWritten()) continue;
    if (const auto key = context_.queue.Take(kAliveInterval)) Reconcile(*key);
    if (context_.is_alive) context_.is_alive();
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
  const auto write = [this, key, &status_write = *at->second.reconciliation.write] {
    Status status = reconciler_.Write(status_write);
    {
      const std::lock_guard lock(mutex_);
      written_.push_back({key, std::move(status)});
    }
    has_written_.notify_one();
    context_.queue.Nudge();
  };
  next_writer_ = (next_writer_ + 1) % writers_.size();
  CHECK(writers_[next_writer_]->Post(write));  // Post succeeds: far fewer writes wait than a Worker accepts.
}

// Finishes the reconciliations whose status writes have ended; returns false if no write has ended. First waits until
// a write has ended if the limit of concurrent writes is reached, or if the queue is stopped.
bool ReconcileLoop::FinishWritten() {
  std::vector<Written> written;
  {
    std::unique_lock lock(mutex_);
    const bool is_full = !writers_.empty() && writing_.size() >= writers_.size();
    const bool is_last = !writing_.empty() && context_.queue.is_stopped();
    if (is_full || is_last) has_written_.wait(lock, [this] { return !written_.empty(); });
    written.swap(written_);
  }
  for (const Written& one : written) {
    const auto node = writing_.extract(one.key);
    const Writing& writing = node.mapped();
    Finish(one.key, writing.reconciliation.finish(one.status), writing.began);
    if (writing.again) context_.queue.Add(one.key);
  }
  return !written.empty();
}

void ReconcileLoop::Finish(const api::Key& key, const reconcile::Outcome& outcome, MonotonicPoint began) {
  context_.metrics.Reconciled(key, outcome ? Code::kOk : outcome.error().code, timer_.Now() - began);
  context_.failpoint.Processed();
  if (outcome) {
    context_.queue.Succeeded(key);
    if (*outcome) context_.queue.Add(key, **outcome);
    return;
  }
  // kAborted: the object changed before the write, so its new state must be reconciled.
  if (outcome.error().code == Code::kAborted) return context_.queue.Add(key);
  // kCancelled: the controller is stopping; the next controller reconciles all objects.
  if (outcome.error().code == Code::kCancelled) return;
  spdlog::error("{}: {}", ToString(key), outcome.error().message);
  context_.queue.AddAfterFailure(key);
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
