// Finds the versions under a base path; in standalone mode, polls base paths and passes the versions to a ModelStore.
//
// TensorFlow Serving's layout: every child of the base path whose name is a number is a version ("00000123" is 123).
// Unlike in TensorFlow Serving, a missing base path does not stop other models, and a version that is still being
// copied is not loaded.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/os/ticker.h"
#include "serving-node/models/models.h"

namespace longshore::models {

// Returns ok if the directory has all files that a SavedModel needs. Otherwise returns FailedPrecondition, which names
// the missing file: "no saved_model.pb in ...", "variables.index without variables.data files in ...".
Status CheckComplete(const Path& version_dir);

struct VersionPolicy {
  enum class Kind { kLatest, kAll, kSpecific };
  Kind kind = Kind::kLatest;
  int latest = 1;  // For kLatest: how many of the highest versions are served.
  std::vector<int64_t> specific{};
};

struct ModelSource {
  std::string name;
  Path base_path;
  VersionPolicy policy{};
  std::map<std::string, int64_t> labels{};
  batching::Options batching{};
  bool warm_up = true;
};

// A model or version that is not loaded yet, and why.
struct Waiting {
  std::string model;
  std::optional<int64_t> version;  // Absent: the whole model, because its base path is unreadable or empty.
  std::string reason;
  bool settles = false;  // The version has all its files, and only must stay unchanged until it is loaded.

  friend bool operator==(const Waiting&, const Waiting&) = default;
};

// Thread-safe.
class Discovery {
 public:
  using ApplyFunction = std::function<void(std::vector<Wanted>)>;
  struct Options {
    // The time between two polls. While a version is being copied, polls at least every second; zero: polls only then.
    // Negative: polls only when Poll or SetSources is called.
    std::chrono::milliseconds poll_interval{1000};
    // A version whose files have not changed for this long counts as fully copied at the first poll. If they changed
    // more recently, they must be the same in two successive polls.
    std::chrono::milliseconds quiet{2000};
    // `failed` says whether loading a version failed; `retry` is called when the files of a failed version have
    // changed. Set both or neither.
    std::function<bool(const std::string& model, int64_t version)> failed{};
    std::function<void(const std::string& model, int64_t version)> retry{};
  };

  Discovery(Options options, ApplyFunction apply);

  // Replaces the sources and polls once.
  void SetSources(std::vector<ModelSource> sources);

  // Looks at all base paths once and applies the result. A model keeps its versions if its base path disappeared, and
  // loses them if the base path is empty.
  void Poll();

  std::vector<Waiting> waiting() const;

 private:
  using VersionKey = std::pair<std::string, int64_t>;
  struct Observation {
    std::string files;     // The files' state at the last poll (FileState::files).
    bool settled = false;  // The files are fully copied.
  };
  // The results of one poll.
  struct PollResult {
    std::map<VersionKey, Observation> seen;
    std::vector<Waiting> waiting;
    std::vector<VersionKey> rewritten;  // Failed versions whose files have changed.
  };

  Wanted Observe(const ModelSource& source, PollResult* result);
  bool IsSettled(const ModelSource& source, int64_t version, PollResult* result);
  void CheckRewritten(const ModelSource& source, int64_t version, Observation* seen, PollResult* result);
  void SetWaiting(std::vector<Waiting> waiting);
  void PollIfDue();

  const Options options_;
  const ApplyFunction apply_;
  std::mutex poll_mutex_;     // Held during a whole poll, including apply_.
  mutable std::mutex mutex_;  // Guards the next two members.
  std::vector<ModelSource> sources_;
  std::vector<Waiting> waiting_;
  // poll_mutex_ guards the next two members.
  std::map<VersionKey, Observation> seen_;
  std::map<std::string, std::vector<int64_t>> applied_;  // The versions last applied, by model.
  const int64_t ticks_per_poll_;
  int64_t ticks_ = 0;             // Used by ticker_'s thread only.
  std::optional<Ticker> ticker_;  // Declared last: its thread uses the other members.
};

}  // namespace longshore::models
