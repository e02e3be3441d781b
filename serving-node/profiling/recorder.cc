#include "serving-node/profiling/recorder.h"

namespace longshore::profiling {

// A recording under way. Guarded by the recorder's mutex, but for the room.
struct Recorder::Taking {
  Recording recording;
  MonotonicPoint until;
  int begun = 0;
  std::atomic<int64_t> room_bytes = kNodesBytesMax;

  bool IsOver(MonotonicPoint now) const { return now >= until || (begun == recording.wanted.runs && !UnderWay()); }
  bool UnderWay() const { return recording.runs.size() < static_cast<size_t>(begun); }
};

// A run that is being recorded, with what it notes its nodes in.
struct Recorder::TakenRun : batching::WatchedRun {
  std::string model;
  int64_t version = 0;
  std::shared_ptr<Taking> taking;
};

class Recorder::Watch final : public batching::RunWatch {
 public:
  Watch(Recorder& recorder, std::string model, int64_t version)
      : recorder_(recorder), model_(std::move(model)), version_(version) {}

  std::shared_ptr<batching::WatchedRun> Begin() override {
    if (!recorder_.takes_runs_.load(std::memory_order_relaxed)) return nullptr;
    return recorder_.Begin(model_, version_);
  }
  void Ended(const std::shared_ptr<batching::WatchedRun>& run) override { recorder_.Ended(run); }

 private:
  Recorder& recorder_;
  const std::string model_;
  const int64_t version_;
};

std::shared_ptr<batching::RunWatch> Recorder::WatchOf(const std::string& model, int64_t version) {
  return std::make_shared<Watch>(*this, model, version);
}

Status Recorder::Start(const Wanted& wanted) {
  auto taking = std::make_shared<Taking>();
  taking->recording.wanted = wanted;
  taking->recording.at = clock_.Now();
  taking->recording.began = std::chrono::steady_clock::now();
  std::shared_ptr<Taking> before = taking;  // Freed without the lock.
  const std::lock_guard lock(mutex_);
  const MonotonicPoint now = timer_.Now();
  if (taking_ && !taking_->IsOver(now)) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(taking_->until - now);
    return FailedPrecondition("a recording is under way: {} of {} runs; it ends within {} s",
                              taking_->recording.runs.size(), taking_->recording.wanted.runs, left.count());
  }
  taking->until = now + wanted.time;
  taking_.swap(before);
  takes_runs_ = true;
  return {};
}

std::optional<Recording> Recorder::recording() const {
  const std::lock_guard lock(mutex_);
  if (!taking_) return std::nullopt;
  Recording recording = taking_->recording;
  recording.done = taking_->IsOver(timer_.Now());
  return recording;
}

std::shared_ptr<batching::WatchedRun> Recorder::Begin(const std::string& model, int64_t version) {
  const std::lock_guard lock(mutex_);
  const Wanted& wanted = taking_->recording.wanted;
  if (taking_->begun == wanted.runs || timer_.Now() >= taking_->until) {
    takes_runs_ = false;
    return nullptr;
  }
  if (!wanted.model.empty() && wanted.model != model) return nullptr;
  taking_->begun += 1;
  auto run = std::make_shared<TakenRun>();
  run->model = model;
  run->version = version;
  run->taking = taking_;
  run->profile.room_bytes = &taking_->room_bytes;
  return run;
}

void Recorder::Ended(const std::shared_ptr<batching::WatchedRun>& run) {
  TakenRun& taken = static_cast<TakenRun&>(*run);
  taken.profile.room_bytes = nullptr;  // It may outlive the room.
  auto recorded = std::make_shared<const RecordedRun>(
      RecordedRun{taken.model, taken.version, std::move(static_cast<batching::WatchedRun&>(taken))});
  const std::lock_guard lock(mutex_);
  taken.taking->recording.runs.push_back(std::move(recorded));
}

}  // namespace longshore::profiling
