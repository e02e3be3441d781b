#include "controller/app/looker.h"

#include <algorithm>
#include <utility>

#include "common/log.h"

namespace longshore::app {
namespace {

std::unique_ptr<metrics::Source> MakeSource(const metrics::Query& query, const metrics::PrometheusTrust& trust,
                                            const Clock& clock, const MonotonicClock& timer) {
  if (query.prometheus_url.empty()) return metrics::MakeReportSource(query, timer);
  auto source = metrics::MakePrometheusSource(query, clock, {.trust = trust});
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

Looker::~Looker() { parts_.metrics.ShowObjectsOf(nullptr); }

void Looker::Run() {
  while (!parts_.queue.is_stopped()) {
    if (FinishWritten()) continue;
    if (const auto key = parts_.queue.Take()) LookAt(*key);
  }
  while (!writing_.empty()) FinishWritten();
}

void Looker::LookAt(const api::Key& key) {
  if (const auto writing = writing_.find(key); writing != writing_.end()) {
    writing->second.again = true;
    return;
  }
  const MonotonicPoint began = timer_.Now();
  Result<reconcile::Look> look = reconciler_.Begin(key);
  if (!look) return Finish(key, tl::make_unexpected(look.error()), began);
  if (!look->write) return Finish(key, look->finish({}), began);
  if (writers_.empty()) return Finish(key, look->finish(reconciler_.Write(*look->write)), began);
  Write(key, std::move(*look), began);
}

void Looker::Write(const api::Key& key, reconcile::Look look, MonotonicPoint began) {
  const auto at = writing_.emplace(key, Writing{std::move(look), began}).first;
  const auto write = [this, key, &what = *at->second.look.write] {
    Status status = reconciler_.Write(what);
    {
      const std::lock_guard lock(mutex_);
      written_.push_back({key, std::move(status)});
    }
    has_written_.notify_one();
    parts_.queue.Nudge();
  };
  next_writer_ = (next_writer_ + 1) % writers_.size();
  CHECK(writers_[next_writer_]->Post(write));  // Each has few: no more wait than there are writers.
}

// True when there was something. Where as many writes are under way as may be, or nothing else is to come, it waits for
// one.
bool Looker::FinishWritten() {
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
    Finish(one.key, its.look.finish(one.status), its.began);
    if (its.again) parts_.queue.Add(one.key);
  }
  return !written.empty();
}

void Looker::Finish(const api::Key& key, const reconcile::Looked& looked, MonotonicPoint began) {
  parts_.metrics.Looked(key, looked ? Code::kOk : looked.error().code, timer_.Now() - began);
  parts_.failpoint.Seen();
  if (looked) {
    parts_.queue.Succeeded(key);
    if (*looked) parts_.queue.Add(key, **looked);
    return;
  }
  // Somebody else wrote in between: what is there now is looked at anew.
  if (looked.error().code == Code::kAborted) return parts_.queue.Add(key);
  if (looked.error().code == Code::kCancelled) return;  // The controller stops; the next one looks at everything.
  spdlog::error("{}: {}", ToString(key), looked.error().message);
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
