// Which versions lie under a base path, and the standalone mode that polls base paths and tells a ModelStore.
//
// TensorFlow Serving's layout: every child of the base path whose name is a number is a version ("00000123" is 123).
// Unlike there, one missing base path stops no other model, and a version that is still being copied is not loaded.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/ticker.h"
#include "serving-node/models/models.h"

namespace longshore::models {

// The versions in rising order. NotFound without the directory.
Result<std::vector<int64_t>> ListVersions(const Path& base_path);

// What a version directory lacks to be loaded: "no saved_model.pb", "variables/variables.index without ...". Ok:
// nothing.
Status CheckComplete(const Path& version_dir);

struct VersionPolicy {
  enum class Kind { kLatest, kAll, kSpecific };
  Kind kind = Kind::kLatest;
  int latest = 1;  // How many of the highest.
  std::vector<int64_t> specific{};
};

struct Source {
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
  std::optional<int64_t> version;  // Absent: the whole model, as its base path cannot be read or holds no version.
  std::string reason;

  friend bool operator==(const Waiting&, const Waiting&) = default;
};

// Thread-safe.
class Discovery {
 public:
  using ApplyFunction = std::function<void(std::vector<Wanted>)>;
  struct Options {
    // Zero: polls until nothing is being copied, then no more. Negative: only Poll and SetSources look.
    std::chrono::milliseconds poll_interval{1000};
    // A version none of whose files changed for so long is complete at first sight; a younger one must look the same in
    // two polls.
    std::chrono::milliseconds quiet{2000};
    // Whether a version could not be loaded, and what to call when its files have changed since; both or none.
    std::function<bool(const std::string& model, int64_t version)> failed{};
    std::function<void(const std::string& model, int64_t version)> retry{};
  };

  Discovery(Options options, ApplyFunction apply);

  // Replaces what is looked for, and looks at once.
  void SetSources(std::vector<Source> sources);

  // Looks once and applies. A base path that vanished keeps the versions it had; an empty one loses them.
  void Poll();

  std::vector<Waiting> waiting() const;

 private:
  using VersionKey = std::pair<std::string, int64_t>;
  struct Sight {
    std::string files;  // What they looked like last.
    bool settled = false;
  };
  // What one poll finds.
  struct Round {
    std::map<VersionKey, Sight> seen;
    std::vector<Waiting> waiting;
    std::vector<VersionKey> rewritten;
  };

  Wanted Look(const Source& source, Round* round);
  bool IsSettled(const Source& source, int64_t version, Round* round);
  void NoteRewritten(const Source& source, int64_t version, Sight* sight, Round* round);
  void SetWaiting(std::vector<Waiting> waiting);
  void PollIfDue();

  const Options options_;
  const ApplyFunction apply_;
  std::mutex poll_mutex_;     // One poll at a time, its Apply included.
  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<Source> sources_;
  std::vector<Waiting> waiting_;
  // Under poll_mutex_.
  std::map<VersionKey, Sight> seen_;
  std::map<std::string, std::vector<int64_t>> given_;
  std::optional<Ticker> ticker_;  // Last: it uses the rest.
};

}  // namespace longshore::models
