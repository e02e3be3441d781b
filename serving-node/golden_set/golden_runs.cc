#include "serving-node/golden_set/golden_runs.h"

#include <algorithm>

#include "common/node_contract/homes.h"
#include "common/os/log.h"
#include "serving-node/batching/background.h"
#include "serving-node/evidence/recorder.h"

namespace longshore::golden_set {
namespace {

using std::chrono::nanoseconds;

// After a record that ran for a time t, the next one waits for 9 t. So the records use a tenth of one slot's time.
constexpr int kPausePerRun = 9;

constexpr metrics::Name kScore{"longshore_golden_score",
                               "Share of the records of the golden set that passed in the last repeated run."};
constexpr metrics::Name kPassed{"longshore_golden_passed",
                                "1 if the last repeated run of the golden set passed, otherwise 0."};
constexpr metrics::Name kRuns{"longshore_golden_runs_total",
                              "Repeated runs of golden sets, by result: passed, failed, or unreadable file."};
constexpr metrics::Name kLast{"longshore_golden_last_run_timestamp_seconds",
                              "When the last repeated run of the golden set ended, in seconds since 1970."};
constexpr metrics::Name kDue{
    "longshore_golden_due_timestamp_seconds",
    "When the next repeated run of the golden set is due, in seconds since 1970; in the past if the run is late."};
constexpr metrics::Name kInterval{"longshore_golden_interval_seconds",
                                  "The interval at which the golden set runs again, from the Model."};

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// The fields that decide when the golden set runs and how it is judged.
control::Validation OnlyGolden(const control::Validation& all) {
  control::Validation golden;
  golden.set_golden_set(all.golden_set());
  golden.set_metric(all.metric());
  golden.set_minimum(all.minimum());
  golden.set_relative_tolerance(all.relative_tolerance());
  golden.set_non_finite_reject(all.non_finite_reject());
  golden.set_deterministic(all.deterministic());
  golden.set_golden_every_ms(all.golden_every_ms());
  return golden;
}

}  // namespace

// Only `interval`, `result` and `runs` change, and are guarded by the mutex.
struct GoldenRuns::Schedule {
  control::Validation validation;  // Only the fields about the golden set.
  Duration every{0};
  Duration phase{0};     // The intervals begin at phase + n * every.
  int64_t interval = 0;  // The number of the newest interval whose run is over, or in which no run is due.
  std::optional<control::GoldenResult> result{};
  std::map<std::string, int64_t> runs{};  // The number of runs by the metric's label `result`.

  int64_t IntervalAt(TimePoint at) const { return (at.time_since_epoch() - phase) / every; }
  TimePoint DueAt() const { return TimePoint{phase + (interval + 1) * every}; }
};

GoldenRuns::GoldenRuns(const models::ModelStore& store, const Clock& clock, Options options)
    : store_(store), clock_(clock), options_(std::move(options)) {}

GoldenRuns::~GoldenRuns() = default;

GoldenRuns::SchedulePtr GoldenRuns::MakeSchedule(const std::string& model, control::Validation validation) const {
  auto schedule = std::make_shared<Schedule>();
  schedule->every = std::chrono::milliseconds(validation.golden_every_ms());
  const uint64_t spread =
      node_contract::Nearness(node_contract::HashOfName(options_.node), node_contract::HashOfName(model));
  schedule->phase = Duration(static_cast<int64_t>(spread % static_cast<uint64_t>(schedule->every.count())));
  schedule->interval = schedule->IntervalAt(clock_.Now());
  schedule->validation = std::move(validation);
  return schedule;
}

void GoldenRuns::SetState(const control::DesiredState& state) {
  std::map<Key, SchedulePtr> wanted;
  const std::lock_guard lock(mutex_);
  for (const control::ModelState& model : state.models()) {
    const control::Validation validation = OnlyGolden(model.validation());
    if (validation.golden_every_ms() <= 0 || validation.golden_set().empty()) continue;
    for (const control::VersionState& version : model.versions()) {
      if (version.role() != control::STABLE || !version.load()) continue;
      const Key key{model.served_name(), version.version()};
      const auto known = schedules_.find(key);
      const bool same =
          known != schedules_.end() && known->second->validation.SerializeAsString() == validation.SerializeAsString();
      wanted[key] = same ? known->second : MakeSchedule(model.served_name(), validation);
    }
  }
  schedules_ = std::move(wanted);
}

std::optional<control::GoldenResult> GoldenRuns::ResultOf(const std::string& model, int64_t version) const {
  const std::lock_guard lock(mutex_);
  const auto found = schedules_.find({model, version});
  return found == schedules_.end() ? std::nullopt : found->second->result;
}

void GoldenRuns::Show(metrics::Exposition* out) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, schedule] : schedules_) {
    const metrics::Labels labels{{"model", key.first}, {"version", std::to_string(key.second)}};
    out->Set(kInterval, labels, Seconds(schedule->every));
    out->Set(kDue, labels, Seconds(schedule->DueAt().time_since_epoch()));
    for (const auto& [result, runs] : schedule->runs) {
      metrics::Labels with_result = labels;
      with_result["result"] = result;
      out->Count(kRuns, with_result, static_cast<double>(runs));
    }
    if (!schedule->result) continue;
    out->Set(kPassed, labels, schedule->result->ok() ? 1 : 0);
    out->Set(kLast, labels, static_cast<double>(schedule->result->at_unix_ms()) / 1000);
    if (schedule->result->records() > 0) out->Set(kScore, labels, schedule->result->score());
  }
}

nanoseconds GoldenRuns::Step() {
  if (run_ && !IsWanted(*run_)) run_.reset();
  if (!run_) BeginDue();
  return run_ ? RunRecord() : options_.try_again;
}

bool GoldenRuns::IsWanted(const Run& run) const {
  const std::lock_guard lock(mutex_);
  const auto found = schedules_.find(run.key);
  return found != schedules_.end() && found->second == run.schedule;
}

// The golden sets whose runs are due, those that are due longest first.
std::vector<std::pair<GoldenRuns::Key, GoldenRuns::SchedulePtr>> GoldenRuns::Due(TimePoint now) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<Key, SchedulePtr>> due;
  for (const auto& entry : schedules_) {
    if (entry.second->IntervalAt(now) != entry.second->interval) due.push_back(entry);
  }
  std::ranges::sort(due, {}, [](const auto& entry) { return entry.second->DueAt(); });
  return due;
}

// Returns the path of the golden set; nullopt if the version is not ready.
std::optional<Path> GoldenRuns::FileOf(const Key& key, const Schedule& schedule) const {
  for (const models::VersionStatus& status : store_.Statuses(key.first)) {
    if (status.version == key.second && status.state == models::State::kAvailable)
      return status.base_path / schedule.validation.golden_set();
  }
  return std::nullopt;
}

void GoldenRuns::BeginDue() {
  const TimePoint now = clock_.Now();
  for (const auto& [key, schedule] : Due(now)) {
    const auto file = FileOf(key, *schedule);
    if (!file) continue;
    const int64_t interval = schedule->IntervalAt(now);
    auto reader = RecordReader::Open(*file);
    if (!reader) return End(key, *schedule, interval, tl::make_unexpected(reader.error()));
    run_.emplace(Run{key, schedule, interval, std::move(*reader), Score(schedule->validation)});
    return;
  }
}

// RESOURCE_EXHAUSTED means that the node has no memory at the moment, or that the record needs more than a run may use.
// In the latter case it never runs, and would keep all other golden sets waiting.
bool GoldenRuns::IsTriedAgain(Run& run, Code code) {
  if (code == Code::kResourceExhausted) return ++run.tries_without_memory < kTriesWithoutMemoryMax;
  return evidence::IsTooBusy(code);
}

nanoseconds GoldenRuns::RunRecord() {
  Run& run = *run_;
  const auto ready = store_.Find(run.key.first, run.key.second);
  if (!ready) {
    run_.reset();  // It begins again when the version is back.
    return options_.try_again;
  }
  if (!run.record && !ReadRecord(run)) return nanoseconds(0);
  nanoseconds took{0};
  const Status judged = run.score.Judge(*run.record, [&](engine::RunRequest request) -> Result<engine::TensorMap> {
    ASSIGN_OR_RETURN(batching::RunOutcome outcome,
                     batching::RunInBackground(*(*ready)->queue, std::move(request), options_.patience));
    took += outcome.run_time;
    return std::move(outcome.outputs);
  });
  if (!judged && IsTriedAgain(run, judged.error().code)) return options_.try_again;
  if (!judged) run.score.AddFailure(judged.error());
  run.record.reset();
  run.tries_without_memory = 0;
  return kPausePerRun * took;
}

// Reads the next record. If there is none, ends the run and returns false.
bool GoldenRuns::ReadRecord(Run& run) {
  auto next = run.reader.Next();
  if (next && *next) {
    run.record = std::move(*next);
    return true;
  }
  End(run.key, *run.schedule, run.interval,
      next ? Result<control::GoldenResult>(run.score.Finished()) : tl::make_unexpected(next.error()));
  run_.reset();
  return false;
}

// `result`: an error if the file could not be read.
void GoldenRuns::End(const Key& key, Schedule& schedule, int64_t interval,
                     const Result<control::GoldenResult>& result) {
  control::GoldenResult ended;
  if (result) ended = *result;
  if (!result) ended.set_message(result.error().message);
  ended.set_at_unix_ms(ToUnixMillis(clock_.Now()));
  if (!ended.ok()) spdlog::error("model \"{}\" version {}: {}", key.first, key.second, ForLog(ended.message()));
  const std::lock_guard lock(mutex_);
  schedule.interval = interval;
  schedule.runs[!result ? "unreadable" : ended.ok() ? "passed" : "failed"] += 1;
  schedule.result = std::move(ended);
}

}  // namespace longshore::golden_set
