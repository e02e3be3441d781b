#include "serving-node/routing/first_runs.h"

#include <utility>

#include "common/os/log.h"
#include "serving-node/rehearsal/journal.h"

namespace longshore::routing {
namespace {

rehearsal::Attempt AttemptOf(const GuardKey& key) { return {key.model, key.version, key.salt}; }

}  // namespace

bool FirstRuns::IsNoted(const Arm& candidate) const {
  return journal_ == nullptr || candidate.first_run.load(std::memory_order_acquire) == FirstRun::kNoted;
}

bool FirstRuns::Post(Arm& candidate, std::function<void(bool is_first)> then) {
  const std::lock_guard lock(mutex_);
  FirstRun unnoted = FirstRun::kUnnoted;
  const bool first = candidate.first_run.compare_exchange_strong(unnoted, FirstRun::kBeingNoted);
  const bool posted =
      writer_.Post([this, &candidate, first, then = std::move(then)] { then(first && Note(candidate)); });
  if (first && !posted) candidate.first_run = FirstRun::kUnnoted;
  return posted;
}

bool FirstRuns::Note(Arm& candidate) {
  const GuardKey& key = candidate.guard->key();
  const auto noted = journal_->Begin(AttemptOf(key), rehearsal::Activity::kFirstRun);
  if (!noted) {
    spdlog::warn("model \"{}\" version {}: cannot record the first run in the journal: {}", key.model, key.version,
                 ToString(noted.error()));
  }
  candidate.first_run = FirstRun::kNoted;
  return noted.has_value();
}

void FirstRuns::End(Arm& candidate, bool ran) {
  const auto end = [this, key = candidate.guard->key()] { journal_->End(AttemptOf(key)); };
  if (!writer_.Post(end)) end();
  if (!ran) candidate.first_run = FirstRun::kUnnoted;
}

}  // namespace longshore::routing
