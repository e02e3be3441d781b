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

// `validation`, `every`, `phase` and `first_due` do not change. The mutex guards the other members.
struct GoldenRuns::Schedule {
  control::Validation validation;  // Only the fields about the golden set.
  Duration every{0};               // 0: runs only if it is requested.
  Duration phase{0};               // The intervals begin at phase + n * every.
  TimePoint first_due{};
  int64_t interval = 0;  // The number of the newest interval whose run is over, or in which no run is due.
  std::string request{};
  TimePoint requested_at{};
  std::string answered{};  // The last request whose run has ended.
  std::optional<control::GoldenResult> result{};
  std::map<std::string, int64_t> runs{};  // The number of runs by the metric's label `result`.

  bool IsRequested() const { return !request.empty() && request != answered; }
  bool IsRepeated() const { return every > Duration(0); }
  int64_t IntervalAt(TimePoint at) const { return IsRepeated() ? (at.time_since_epoch() - phase) / every : 0; }
  // When the next repeated run is due. Requires: IsRepeated().
  TimePoint RepeatedAt() const { return std::max(first_due, TimePoint{phase + (interval + 1) * every}); }
  // Requires: IsDue().
  TimePoint DueAt() const { return IsRequested() ? requested_at : RepeatedAt(); }
  bool IsDue(TimePoint now) const { return IsRequested() || (IsRepeated() && now >= RepeatedAt()); }
};

GoldenRuns::GoldenRuns(const models::ModelStore& store, const Clock& clock, Options options)
    : store_(store), clock_(clock), options_(std::move(options)) {}

GoldenRuns::~GoldenRuns() = default;

GoldenRuns::SchedulePtr GoldenRuns::MakeSchedule(const std::string& model, control::Validation validation) const {
  auto schedule = std::make_shared<Schedule>();
  schedule->every = std::chrono::milliseconds(validation.golden_every_ms());
  const uint64_t spread =
      node_contract::Nearness(node_contract::HashOfName(options_.node), node_contract::HashOfName(model));
  const auto spread_over = [&](Duration longest) {
    return Duration(static_cast<int64_t>(spread % static_cast<uint64_t>(std::max(longest, Duration(1)).count())));
  };
  schedule->phase = spread_over(schedule->every);
  schedule->first_due = clock_.Now() + spread_over(std::min(schedule->every, kFirstRunWithin));
  schedule->interval = schedule->IntervalAt(clock_.Now()) - 1;
  schedule->validation = std::move(validation);
  return schedule;
}

// Returns the known schedule, or a new one if the version had none or its golden set is judged otherwise. The caller
// holds the mutex.
GoldenRuns::SchedulePtr GoldenRuns::ScheduleFor(const Key& key, const control::Validation& validation) const {
  const auto known = schedules_.find(key);
  const bool same =
      known != schedules_.end() && known->second->validation.SerializeAsString() == validation.SerializeAsString();
  return same ? known->second : MakeSchedule(key.first, validation);
}

void GoldenRuns::SetState(const control::DesiredState& state) {
  std::map<Key, SchedulePtr> wanted;
  const std::lock_guard lock(mutex_);
  for (const control::ModelState& model : state.models()) {
    const control::Validation validation = OnlyGolden(model.validation());
    if (validation.golden_every_ms() < 0 || validation.golden_set().empty()) continue;
    for (const control::VersionState& version : model.versions()) {
      if (version.role() != control::STABLE || !version.load()) continue;
      const Key key{model.served_name(), version.version()};
      const SchedulePtr schedule = ScheduleFor(key, validation);
      if (schedule->request != version.golden_request()) schedule->requested_at = clock_.Now();
      schedule->request = version.golden_request();
      wanted[key] = schedule;
    }
  }
  schedules_ = std::move(wanted);
}

std::optional<control::GoldenResult> GoldenRuns::ResultOf(const std::string& model, int64_t version) const {
  const std::lock_guard lock(mutex_);
  const auto found = schedules_.find({model, version});
  return found == schedules_.end() ? std::nullopt : found->second->result;
}

void GoldenRuns::AddTo(control::VersionReport* report) const {
  const std::lock_guard lock(mutex_);
  const auto found = schedules_.find({report->served_name(), report->version()});
  if (found == schedules_.end()) return;
  const Schedule& schedule = *found->second;
  if (schedule.result) *report->mutable_golden() = *schedule.result;
  if (schedule.IsRepeated()) report->set_golden_due_unix_ms(ToUnixMillis(schedule.RepeatedAt()));
}

void GoldenRuns::Show(metrics::Exposition* out) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, schedule] : schedules_) {
    const metrics::Labels labels{{"model", key.first}, {"version", std::to_string(key.second)}};
    if (schedule->IsRepeated()) {
      out->Set(kInterval, labels, Seconds(schedule->every));
      out->Set(kDue, labels, Seconds(schedule->RepeatedAt().time_since_epoch()));
    }
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
  if (run_ && (!IsWanted(*run_) || GivesWay(*run_))) run_.reset();
  if (!run_) BeginDue();
  return run_ ? RunRecord() : options_.try_again;
}

bool GoldenRuns::IsWanted(const Run& run) const {
  const std::lock_guard lock(mutex_);
  const auto found = schedules_.find(run.key);
  if (found == schedules_.end() || found->second != run.schedule) return false;
  return run.request == (run.schedule->IsRequested() ? run.schedule->request : "");
}

// Whether a requested run of another version can begin. The run begins again later.
bool GoldenRuns::GivesWay(const Run& run) const {
  if (!run.request.empty()) return false;
  return std::ranges::any_of(Due(clock_.Now()), [&](const DueRun& due) {
    return !due.request.empty() && FileOf(due.key, *due.schedule).has_value();
  });
}

// The golden sets whose runs are due: first the requested ones, then those that are due longest.
std::vector<GoldenRuns::DueRun> GoldenRuns::Due(TimePoint now) const {
  const std::lock_guard lock(mutex_);
  std::vector<DueRun> due;
  for (const auto& [key, schedule] : schedules_) {
    if (!schedule->IsDue(now)) continue;
    due.push_back({key, schedule, schedule->IsRequested() ? schedule->request : "", schedule->DueAt()});
  }
  std::ranges::sort(due, {}, [](const DueRun& run) { return std::pair(run.request.empty(), run.at); });
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
  for (const DueRun& due : Due(now)) {
    const auto file = FileOf(due.key, *due.schedule);
    if (!file) continue;
    const int64_t interval = due.schedule->IntervalAt(now);
    auto reader = RecordReader::Open(*file);
    if (!reader) return End(due.key, *due.schedule, interval, due.request, tl::make_unexpected(reader.error()));
    run_.emplace(
        Run{due.key, due.schedule, interval, due.request, std::move(*reader), Score(due.schedule->validation)});
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
  return run.request.empty() ? kPausePerRun * took : nanoseconds(0);
}

// Reads the next record. If there is none, ends the run and returns false.
bool GoldenRuns::ReadRecord(Run& run) {
  auto next = run.reader.Next();
  if (next && *next) {
    run.record = std::move(*next);
    return true;
  }
  End(run.key, *run.schedule, run.interval, run.request,
      next ? Result<control::GoldenResult>(run.score.Finished()) : tl::make_unexpected(next.error()));
  run_.reset();
  return false;
}

// `result`: an error if the file could not be read.
void GoldenRuns::End(const Key& key, Schedule& schedule, int64_t interval, const std::string& request,
                     const Result<control::GoldenResult>& result) {
  control::GoldenResult ended;
  if (result) ended = *result;
  if (!result) ended.set_message(result.error().message);
  ended.set_at_unix_ms(ToUnixMillis(clock_.Now()));
  ended.set_request(request);
  if (!ended.ok()) spdlog::error("model \"{}\" version {}: {}", key.first, key.second, ForLog(ended.message()));
  const std::lock_guard lock(mutex_);
  schedule.interval = interval;
  if (!request.empty()) schedule.answered = request;
  schedule.runs[!result ? "unreadable" : ended.ok() ? "passed" : "failed"] += 1;
  schedule.result = std::move(ended);
}

}  // namespace longshore::golden_set
