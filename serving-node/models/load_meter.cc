#include "serving-node/models/load_meter.h"

#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "common/metrics/distribution.h"

namespace longshore::models {
namespace {

using metrics::Buckets;
using metrics::Distribution;
using metrics::Exposition;
using metrics::Name;

constexpr Name kAttempts{":tensorflow:cc:saved_model:load_attempt_count", "Attempts to load a version."};
constexpr Name kLatency{":tensorflow:cc:saved_model:load_latency", "Total time of loading, in microseconds."};
constexpr Name kWarmUps{":tensorflow:serving:model_warmup_latency", "Time of warm-ups, in microseconds."};
constexpr Name kRecords{":tensorflow:serving:model_warmup_records_read", "Records that warm-ups have read."};

constexpr const char* kOther = "other";

struct WarmUps {
  Buckets microseconds = Distribution(metrics::ServingBounds()).Read(metrics::ServingBounds());
  double records = 0;
};

struct Loads {
  std::map<std::string, double> attempts;  // Key: the status of the load.
  double microseconds = 0;
  std::map<std::string, WarmUps> warm_ups;  // Key: the status of the warm-up.

  void Add(const Loads& other) {
    for (const auto& [status, count] : other.attempts) attempts[status] += count;
    microseconds += other.microseconds;
    for (const auto& [status, warmed] : other.warm_ups) {
      warm_ups[status].microseconds.Add(warmed.microseconds);
      warm_ups[status].records += warmed.records;
    }
  }
};

void Show(const std::string& path, const Loads& loads, Exposition* out) {
  for (const auto& [status, count] : loads.attempts)
    out->Count(kAttempts, {{"model_path", path}, {"status", status}}, count);
  out->Count(kLatency, {{"model_path", path}}, loads.microseconds);
  for (const auto& [status, warmed] : loads.warm_ups) {
    out->Observed(kWarmUps, {{"model_path", path}, {"status", status}}, warmed.microseconds);
    out->Count(kRecords, {{"model_path", path}, {"status", status}}, warmed.records);
  }
}

}  // namespace

struct LoadMeter::State {
  // Requires: `mutex` is held.
  Loads& At(const Path& dir) {
    const std::string path = dir.string();
    std::erase(order, path);
    order.push_back(path);
    if (order.size() > kPathsMax) {
      by_path[kOther].Add(by_path[order.front()]);
      by_path.erase(order.front());
      order.pop_front();
    }
    return by_path[path];
  }

  std::mutex mutex;
  std::map<std::string, Loads> by_path;
  std::deque<std::string> order;  // The paths in by_path, the least recently loaded first.
};

LoadMeter::LoadMeter(metrics::Registry& registry) : state_(std::make_shared<State>()) {
  registry.AddSource([state = state_](Exposition* out) {
    const std::lock_guard lock(state->mutex);
    for (const auto& [path, loads] : state->by_path) Show(path, loads, out);
  });
}

void LoadMeter::Loaded(const Path& version_dir, const Status& status, std::chrono::microseconds took) const {
  const std::lock_guard lock(state_->mutex);
  Loads& loads = state_->At(version_dir);
  loads.attempts[status ? "success" : "fail"] += 1;
  if (status) loads.microseconds += static_cast<double>(took.count());
}

void LoadMeter::WarmedUp(const Path& version_dir, const Status& status, std::chrono::microseconds took,
                         size_t records) const {
  const std::lock_guard lock(state_->mutex);
  WarmUps& warmed = state_->At(version_dir).warm_ups[std::string(CodeName(status ? Code::kOk : status.error().code))];
  Distribution one(metrics::ServingBounds());
  one.Observe(static_cast<double>(took.count()));
  warmed.microseconds.Add(one.Read(metrics::ServingBounds()));
  warmed.records += static_cast<double>(records);
}

}  // namespace longshore::models
