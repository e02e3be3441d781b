#include "serving-node/routing/run_statistics.h"

namespace longshore::routing {
namespace {

void CountRun(const RunStatistics::Request& request, VersionStatistics* version) {
  const batching::RunOutcome& outcome = *request.outcome;
  ++version->runs;
  const int64_t rows = outcome.batch_rows > 0 ? outcome.batch_rows : request.rows;
  const bool is_new = !version->by_rows.contains(rows);
  if (is_new && version->by_rows.size() == RunStatistics::kBatchSizesMax) return;
  version->by_rows[rows].Add(outcome.run_time);
}

}  // namespace

void RunStatistics::Record(const Request& request) {
  const std::lock_guard lock(mutex_);
  VersionStatistics& version = models_[request.model][request.version];
  if (request.outcome == nullptr) return version.fail.Add(request.took);
  version.success.Add(request.took);
  version.queue.Add(request.outcome->queue_time);
  version.run.Add(request.outcome->run_time);
  version.rows += static_cast<uint64_t>(request.rows);
  const auto since_1970 = std::chrono::duration_cast<std::chrono::milliseconds>(request.now.time_since_epoch());
  version.last_success_ms = static_cast<uint64_t>(since_1970.count());
  if (request.outcome->first_of_batch) CountRun(request, &version);
}

VersionStatistics RunStatistics::Of(const std::string& model, int64_t version) const {
  const std::lock_guard lock(mutex_);
  const auto versions = models_.find(model);
  if (versions == models_.end()) return {};
  const auto found = versions->second.find(version);
  return found == versions->second.end() ? VersionStatistics() : found->second;
}

void RunStatistics::Forget(const std::string& model, int64_t version) {
  const std::lock_guard lock(mutex_);
  const auto versions = models_.find(model);
  if (versions == models_.end()) return;
  versions->second.erase(version);
  if (versions->second.empty()) models_.erase(versions);
}

}  // namespace longshore::routing
