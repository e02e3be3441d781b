#include "serving-node/observe/profiling/recorder.h"

#include <algorithm>
#include <new>

namespace longshore::profiling {
namespace {

int64_t RoomFor(const RecordingRequest& wanted) {
  return kRecordingBytesMax - wanted.runs * static_cast<int64_t>(sizeof(RecordedRun) + sizeof(Recording::runs[0]));
}

size_t TextsBytes(const std::string& model, const batching::WatchedRun& run) {
  return engine::TextBytes(model) + engine::TextBytes(run.signature) + engine::TextBytes(run.inputs) +
         engine::TextBytes(run.error);
}

}  // namespace

// A recording in progress. Guarded by the recorder's mutex, except for the atomic members.
struct Recorder::ActiveRecording {
  explicit ActiveRecording(const RecordingRequest& wanted) : room_bytes(RoomFor(wanted)) { recording.wanted = wanted; }

  bool IsOver(MonotonicPoint now) const { return (AcceptsNoMore(now) && !UnderWay()) || now >= until + kGrace; }
  bool AcceptsNoMore(MonotonicPoint now) const { return now >= until || begun == recording.wanted.runs; }
  bool UnderWay() const { return static_cast<int64_t>(recording.runs.size()) + left_out < begun; }

  Recording recording;
  MonotonicPoint until;
  int begun = 0;
  std::atomic<int64_t> left_out = 0;  // How many of the `begun` runs are not part of the recording.
  std::atomic<int64_t> room_bytes;
};

// A run that is being recorded. If it is destroyed without having been recorded, it counts as left out.
struct Recorder::ActiveRun : batching::WatchedRun {
  ~ActiveRun() {
    if (active) active->left_out += 1;
  }

  std::string model;
  int64_t version = 0;
  std::shared_ptr<ActiveRecording> active;  // Null once the run is recorded.
};

class Recorder::Watch final : public batching::RunWatch {
 public:
  Watch(Recorder& recorder, std::string model, int64_t version)
      : recorder_(recorder), model_(std::move(model)), version_(version) {}

  std::shared_ptr<batching::WatchedRun> Begin() override {
    if (!recorder_.accepts_runs_.load(std::memory_order_relaxed)) return nullptr;
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

Result<int64_t> Recorder::Start(const RecordingRequest& wanted) {
  auto active = std::make_shared<ActiveRecording>(wanted);
  std::shared_ptr<ActiveRecording> before = active;  // Receives the old recording, which is freed after the unlock.
  const std::lock_guard lock(mutex_);
  const MonotonicPoint now = timer_.Now();
  if (active_ && !active_->IsOver(now)) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(active_->until + kGrace - now);
    return FailedPrecondition("a recording is in progress: {} of {} runs are recorded; it ends within {} s",
                              active_->recording.runs.size(), active_->recording.wanted.runs, left.count());
  }
  active->recording.id = ++last_id_;
  active->recording.at = clock_.Now();
  active->recording.began = now;
  active->until = now + wanted.time;
  active_.swap(before);
  accepts_runs_ = true;
  return last_id_;
}

void Recorder::Stop(int64_t id) {
  const std::lock_guard lock(mutex_);
  if (active_ && active_->recording.id == id) active_->until = std::min(active_->until, timer_.Now());
}

std::optional<Recording> Recorder::recording() const {
  const std::lock_guard lock(mutex_);
  if (!active_) return std::nullopt;
  Recording recording = active_->recording;
  const MonotonicPoint now = timer_.Now();
  recording.done = active_->IsOver(now);
  recording.until = std::min(active_->until, now);
  recording.runs_left_out = active_->left_out;
  return recording;
}

std::shared_ptr<batching::WatchedRun> Recorder::Begin(const std::string& model, int64_t version) {
  const std::lock_guard lock(mutex_);
  const RecordingRequest& wanted = active_->recording.wanted;
  if (active_->AcceptsNoMore(timer_.Now())) {
    accepts_runs_ = false;
    return nullptr;
  }
  if (!wanted.model.empty() && wanted.model != model) return nullptr;
  active_->begun += 1;
  try {
    auto run = std::make_shared<ActiveRun>();
    run->model = model;
    run->version = version;
    run->profile.room_bytes = &active_->room_bytes;
    run->active = active_;
    return run;
  } catch (const std::bad_alloc&) {
    active_->left_out += 1;
    return nullptr;
  }
}

void Recorder::Ended(const std::shared_ptr<batching::WatchedRun>& run) {
  ActiveRun& taken = static_cast<ActiveRun&>(*run);
  if (!taken.profile.TakeRoom(TextsBytes(taken.model, taken))) std::string().swap(taken.inputs);
  taken.profile.room_bytes = nullptr;  // The profile may outlive the recording, which owns this counter.
  auto recorded = std::make_shared<const RecordedRun>(
      RecordedRun{taken.model, taken.version, std::move(static_cast<batching::WatchedRun&>(taken))});
  // Declared before the lock: if this becomes the last reference, the recording is freed after the unlock.
  const std::shared_ptr<ActiveRecording> active = taken.active;
  const std::lock_guard lock(mutex_);
  active->recording.runs.push_back(std::move(recorded));
  taken.active = nullptr;
}

}  // namespace longshore::profiling
