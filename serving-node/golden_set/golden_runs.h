// Runs the golden sets of the stable versions again and again while they serve, because a version can go bad without a
// new version: damaged memory, another driver, a node of another type.
//
//   GoldenRuns runs(store, clock, "node-1");
//   runs.SetState(*state);              // After each change of the desired state.
//   wait(runs.Step());                  // On one thread, forever.
//   runs.AddTo(&report);                // For the controller: `report` is about one version.
//
// Time is divided into intervals of Validation.golden_every_ms, and one run is due in each. The intervals begin at
// another time for each node and model, so that the nodes of a fleet do not run all at once, and do not depend on when
// the node started. The first run is due soon after the version becomes stable on this node, or the node restarts, so
// that nodes that restart often run golden sets too. The file is read from the folder of the version in each run.
//
// VersionState.golden_request asks for one more run, which is due at once and before all others.
//
// Records run one at a time as background requests. Unless the run is requested, they use at most a tenth of the time
// of one run slot.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/metrics/exposition.h"
#include "longshore/control.pb.h"
#include "serving-node/golden_set/records.h"
#include "serving-node/golden_set/score.h"
#include "serving-node/models/model_store.h"

namespace longshore::golden_set {

// Thread-safe, except for Step.
class GoldenRuns {
 public:
  // A record that ends with RESOURCE_EXHAUSTED so often, one time after the other, counts as failed.
  static constexpr int kTriesWithoutMemoryMax = 60;
  // The first run is due at most this long after the schedule began.
  static constexpr Duration kFirstRunWithin = std::chrono::minutes(5);

  struct Options {
    std::string node;                           // Its name; decides when the intervals and the first run begin.
    std::chrono::milliseconds patience{1000};   // How long a record waits for an idle run slot before Step returns.
    std::chrono::milliseconds try_again{1000};  // Time to the next Step if there is nothing to do or no idle slot.
  };
  GoldenRuns(const models::ModelStore& store, const Clock& clock, Options options);
  ~GoldenRuns();

  // Sets which golden sets run. Results are kept only for versions that are still stable and whose golden set is judged
  // as before.
  void SetState(const control::DesiredState& state);

  // The last result, with `at_unix_ms`; nullopt if there was no run yet. If the golden set could not be read, the
  // result has no records and is not `ok`.
  std::optional<control::GoldenResult> ResultOf(const std::string& model, int64_t version) const;

  // Sets the fields of the report about repeated runs: `golden`, if there was a run, and when the next one is due.
  void AddTo(control::VersionReport* report) const;

  // Adds the metrics longshore_golden_*.
  void Show(metrics::Exposition* out) const;

  // Runs at most one record, and returns after what time to call it again. A record that cannot run because the node is
  // busy (evidence::IsTooBusy) is tried again in the next call.
  std::chrono::nanoseconds Step();

 private:
  using Key = std::pair<std::string, int64_t>;  // Model and version.
  struct Schedule;
  using SchedulePtr = std::shared_ptr<Schedule>;
  struct DueRun {
    Key key;
    SchedulePtr schedule;
    std::string request;  // "" if it is not requested.
    TimePoint at{};
  };
  // The run that has begun. Used by Step only.
  struct Run {
    Key key;
    SchedulePtr schedule;
    int64_t interval = 0;
    std::string request;  // "" if it is not requested.
    RecordReader reader;
    Score score;
    std::optional<Record> record{};  // The record that runs next; nullopt: it is not read yet.
    int tries_without_memory = 0;    // How often this record ended with RESOURCE_EXHAUSTED.
  };

  SchedulePtr MakeSchedule(const std::string& model, control::Validation validation) const;
  SchedulePtr ScheduleFor(const Key& key, const control::Validation& validation) const;
  bool IsWanted(const Run& run) const;
  bool GivesWay(const Run& run) const;
  std::vector<DueRun> Due(TimePoint now) const;
  std::optional<Path> FileOf(const Key& key, const Schedule& schedule) const;
  void BeginDue();
  static bool IsTriedAgain(Run& run, Code code);
  std::chrono::nanoseconds RunRecord();
  bool ReadRecord(Run& run);
  void End(const Key& key, Schedule& schedule, int64_t interval, const std::string& request,
           const Result<control::GoldenResult>& result);

  const models::ModelStore& store_;
  const Clock& clock_;
  const Options options_;
  std::optional<Run> run_;
  mutable std::mutex mutex_;  // Guards schedules_.
  std::map<Key, SchedulePtr> schedules_;
};

}  // namespace longshore::golden_set
