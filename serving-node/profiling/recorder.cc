#include "serving-node/profiling/recorder.h"

#include <new>

namespace longshore::profiling {
namespace {

int64_t RoomFor(const Wanted& wanted) {
  return kRecordingBytesMax - wanted.runs * static_cast<int64_t>(sizeof(RecordedRun) + sizeof(Recording::runs[0]));
}

size_t TextsBytes(const std::string& model, const batching::WatchedRun& run) {
  return engine::TextBytes(model) + engine::TextBytes(run.signature) + engine::TextBytes(run.inputs) +
         engine::TextBytes(run.error);
}

}  // namespace

// A recording under way. Guarded by the recorder's mutex, but for what is atomic.
struct Recorder::Taking {
  explicit Taking(const Wanted& wanted) : room_bytes(RoomFor(wanted)) { recording.wanted = wanted; }

  bool IsOver(MonotonicPoint now) const { return (TakesNoMore(now) && !UnderWay()) || now >= until + kGrace; }
  bool TakesNoMore(MonotonicPoint now) const { return now >= until || begun == recording.wanted.runs; }
  bool UnderWay() const { return static_cast<int64_t>(recording.runs.size()) + left_out < begun; }

  Recording recording;
  MonotonicPoint until;
  int begun = 0;
  std::atomic<int64_t> left_out = 0;  // Of those.
  std::atomic<int64_t> room_bytes;
};

// A run that is being recorded, with what it notes its nodes in.
struct Recorder::TakenRun : batching::WatchedRun {
  ~TakenRun() {
    if (taking) taking->left_out += 1;
  }

  std::string model;
  int64_t version = 0;
  std::shared_ptr<Taking> taking;  // Null once it is recorded.
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
  auto taking = std::make_shared<Taking>(wanted);
  std::shared_ptr<Taking> before = taking;  // Freed without the lock.
  const std::lock_guard lock(mutex_);
  const MonotonicPoint now = timer_.Now();
  if (taking_ && !taking_->IsOver(now)) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(taking_->until + kGrace - now);
    return FailedPrecondition("a recording is under way: {} of {} runs; it ends within {} s",
                              taking_->recording.runs.size(), taking_->recording.wanted.runs, left.count());
  }
  taking->recording.id = ++last_id_;
  taking->recording.at = clock_.Now();
  taking->recording.began = now;
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
  recording.runs_left_out = taking_->left_out;
  return recording;
}

std::shared_ptr<batching::WatchedRun> Recorder::Begin(const std::string& model, int64_t version) {
  const std::lock_guard lock(mutex_);
  const Wanted& wanted = taking_->recording.wanted;
  if (taking_->TakesNoMore(timer_.Now())) {
    takes_runs_ = false;
    return nullptr;
  }
  if (!wanted.model.empty() && wanted.model != model) return nullptr;
  taking_->begun += 1;
  try {
    auto run = std::make_shared<TakenRun>();
    run->model = model;
    run->version = version;
    run->profile.room_bytes = &taking_->room_bytes;
    run->taking = taking_;
    return run;
  } catch (const std::bad_alloc&) {
    taking_->left_out += 1;
    return nullptr;
  }
}

void Recorder::Ended(const std::shared_ptr<batching::WatchedRun>& run) {
  TakenRun& taken = static_cast<TakenRun&>(*run);
  if (!taken.profile.TakeRoom(TextsBytes(taken.model, taken))) std::string().swap(taken.inputs);
  taken.profile.room_bytes = nullptr;  // It may outlive the room.
  auto recorded = std::make_shared<const RecordedRun>(
      RecordedRun{taken.model, taken.version, std::move(static_cast<batching::WatchedRun&>(taken))});
  const std::shared_ptr<Taking> taking = taken.taking;  // Freed without the lock.
  const std::lock_guard lock(mutex_);
  taking->recording.runs.push_back(std::move(recorded));
  taken.taking = nullptr;
}

}  // namespace longshore::profiling
