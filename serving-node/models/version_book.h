// The state machine of a ModelStore: the state of every version, and which version to load next. No threads, locks or
// files.
//
// The owner calls it under one mutex, loads the version that FindNext returns, and passes on the changes from
// TakeChanges.
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
  // How often and at which interval a failed load is retried.
  int retries_max = 0;
  std::chrono::milliseconds interval{60000};
  std::chrono::milliseconds copy_interval{1000};  // While a version is being copied; retries_max does not apply.
  bool unload_first = false;                      // Unload a model's unwanted versions before loading new ones.
  bool unload_for_memory = false;                 // Unload them also if a new one lacks memory.
  int64_t memory_bytes_max = 0;                   // Limit for all reservations together; 0: no limit.
};

// The available versions of a model, for lookups.
struct ReadyVersions {
  std::map<int64_t, Handle> versions;
  std::map<std::string, int64_t> labels;
};
using ReadyModels = std::map<std::string, ReadyVersions>;

class VersionBook {
 public:
  static constexpr size_t kEndedMax = 10;         // How many unloaded versions are remembered per model.
  static constexpr size_t kEndedModelsMax = 100;  // How many models without a loaded version are remembered.

  // Makes a loaded version ready to run with this batching.
  using MakeReady =
      std::function<Handle(const std::string& model, int64_t version, std::shared_ptr<engine::LoadedModel> loaded,
                           const batching::Options& batching)>;
  struct Next {
    std::string model;
    int64_t version = 0;
    const Wanted* wanted = nullptr;  // The wanted state of the model; null: there is nothing to load now.
    SteadyTime again;                // If `wanted` is null: when the next retry is due; max: never.
  };
  using Change = std::pair<std::string, VersionStatus>;

  VersionBook(Rules rules, MakeReady make_ready) : rules_(rules), make_ready_(std::move(make_ready)) {}

  void Apply(std::vector<Wanted> all);
  void Retry(const std::string& model, int64_t version);

  // Returns the version to load next. Models without an available version come first; in a model the highest version.
  // Versions that give way come last.
  Next FindNext(SteadyTime now) const;
  // The steps of a load, in order: Begin, Reserve, BeginWarmUp, FinishLoad.
  void Begin(const std::string& model, int64_t version);
  // Reserves the estimated memory. Returns ResourceExhausted if all reservations together would exceed the limit, or
  // the version its own limit. If the memory of versions that give way suffices for this one, which does not give way,
  // unloads them, and the load is tried again when they are gone.
  Status Reserve(const std::string& model, int64_t version, int64_t bytes);
  void BeginWarmUp(const std::string& model, int64_t version);
  void FinishLoad(const std::string& model, int64_t version, Result<Loaded> loaded, SteadyTime now);
  // Called when a ReadyVersion of this version was destroyed.
  void Gone(const std::string& model, int64_t version);

  // The changes of state since the last call, in their order.
  std::deque<Change> TakeChanges() { return std::exchange(changes_, {}); }

  ReadyModels Ready() const;
  std::vector<VersionStatus> Statuses(const std::string& model) const;  // The highest version first.
  std::vector<std::string> Names() const;                               // The wanted models, sorted by name.
  bool AllAvailable() const;
  bool IsEmpty() const;  // No version is loaded or loading.
  int64_t memory_bytes() const;

 private:
  struct Version {
    VersionStatus status;
    bool wanted = false;
    Path from;                   // The base path of the last load.
    int64_t reserved_bytes = 0;  // Held from Reserve until the version is unloaded or failed.
    int64_t lacking_bytes = 0;   // What it waits for; 0 if it has its memory, or is not wanted.
    int failures = 0;
    SteadyTime retry_at;
    std::optional<batching::Options> own_batching;  // From the version's files; replaces the model's batching.
    Handle ready;                                   // The store's own handle; set while the version is available.
    int alive = 0;                                  // How many ReadyVersions of this version exist.
  };
  struct Model {
    Wanted wanted;
    bool is_wanted = false;
    std::map<int64_t, Version> versions;

    bool HasAvailable() const;
    bool IsUnloading() const;
    bool HasEnded() const;
    bool GivesWay(int64_t number) const { return wanted.giving_way.contains(number); }
  };

  Version& At(const std::string& model, int64_t version);
  void Want(Wanted wanted);
  void SetState(const std::string& model, Version* version, State state);
  void Restart(const std::string& model, Version* version);
  void Advance(const std::string& name, Model* model);
  bool MayUnloadUnwanted(const Model& model) const;
  int64_t FreeBytes() const;
  int64_t AwaitedBytes() const;
  int64_t FreeFor(const Model& model, int64_t number) const;
  void MakeRoom();
  std::pair<std::string, Version*> VersionThatGivesWay(int64_t missing);
  void RetryVersionsThatFit();
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
