// What a ModelStore knows of every version, and what is to be done next: no thread, no lock, no file.
//
// Whoever owns it calls it under one mutex, loads what Next names, and tells the changes that pile up.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "serving-node/models/loading.h"
#include "serving-node/models/models.h"

namespace longshore::models {

using SteadyTime = std::chrono::steady_clock::time_point;

struct Rules {
  // When a load that failed is tried again.
  int retries_max = 0;
  std::chrono::milliseconds interval{60000};
  std::chrono::milliseconds copy_interval{1000};  // Of a version that is still being copied, without end.
  bool unload_first = false;     // What leaves a model leaves before what comes is loaded, and not after.
  int64_t memory_bytes_max = 0;  // That versions may reserve together; 0: no limit.
};

// What lookups see.
struct ReadyVersions {
  std::map<int64_t, Handle> versions;
  std::map<std::string, int64_t> labels;
};
using ReadyModels = std::map<std::string, ReadyVersions>;

class VersionBook {
 public:
  static constexpr size_t kEndedMax = 10;         // Ended versions remembered per model.
  static constexpr size_t kEndedModelsMax = 100;  // Models none of whose versions is left.

  // Makes a loaded version ready to run with this batching.
  using MakeReady =
      std::function<Handle(const std::string& model, int64_t version, std::shared_ptr<engine::LoadedModel> loaded,
                           const batching::Options& batching)>;
  struct Next {
    std::string model;
    int64_t version = 0;
    const Wanted* wanted = nullptr;  // Of the model; null: nothing is to be loaded now.
    SteadyTime again;                // Without one: when a retry is due, or never (max).
  };
  using Change = std::pair<std::string, VersionStatus>;

  VersionBook(Rules rules, MakeReady make_ready) : rules_(rules), make_ready_(std::move(make_ready)) {}

  void Apply(std::vector<Wanted> all);
  void Retry(const std::string& model, int64_t version);

  // The version to load: models that cannot answer yet come first, new versions before old ones.
  Next FindNext(SteadyTime now) const;
  // Its load begins, warms up, ends. Requires: it was begun, and has not ended.
  void Begin(const std::string& model, int64_t version);
  // ResourceExhausted when memory for the version does not suffice beside what others have reserved.
  Status Reserve(const std::string& model, int64_t version, int64_t bytes);
  void Warm(const std::string& model, int64_t version);
  void Settle(const std::string& model, int64_t version, Result<Loaded> loaded, SteadyTime now);
  // One of its ready versions was destroyed.
  void Gone(const std::string& model, int64_t version);

  // The changes of state since the last call, in their order.
  std::deque<Change> TakeChanges() { return std::exchange(changes_, {}); }

  ReadyModels Ready() const;
  std::vector<VersionStatus> Statuses(const std::string& model) const;  // The newest first.
  std::vector<std::string> Names() const;                               // Wanted models, ordered.
  bool AllAvailable() const;
  bool IsEmpty() const;  // Every version has ended.
  int64_t memory_bytes() const;

 private:
  struct Version {
    VersionStatus status;
    bool wanted = false;
    Path from;                   // The base path of the last load.
    int64_t reserved_bytes = 0;  // From the beginning of a load until the version is gone.
    int64_t lacked_bytes = 0;    // What its last load wanted and did not get.
    int failures = 0;
    SteadyTime retry_at;
    std::optional<batching::Options> own_batching;  // Which its files want, whatever the model wants.
    Handle ready;                                   // The store's own; present when available.
    int alive = 0;                                  // ReadyVersions that are not destroyed yet.
  };
  struct Model {
    Wanted wanted;
    bool is_wanted = false;
    std::map<int64_t, Version> versions;

    bool HasAvailable() const;
    bool IsUnloading() const;
    bool HasEnded() const;
  };

  Version& At(const std::string& model, int64_t version);
  void Want(Wanted wanted);
  void SetState(const std::string& model, Version* version, State state);
  void Restart(const std::string& model, Version* version);
  void Tidy(const std::string& name, Model* model);
  bool MayLetGo(const Model& model) const;
  int64_t FreeBytes() const;
  void RetryWhatFitsNow();
  void Unload(const std::string& model, Version* version);
  void UseBatching(const Model& model, Version* version);
  void NoteFailure(const std::string& model, Version* version, Error error, SteadyTime now);
  void ForgetEnded();

  const Rules rules_;
  const MakeReady make_ready_;
  bool applied_ = false;
  std::map<std::string, Model> models_;
  std::deque<Change> changes_;
};

}  // namespace longshore::models
