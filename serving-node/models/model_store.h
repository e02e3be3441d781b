// Holds the versions that the node should hold: loads beside what serves, warms up, swaps, and unloads after the last
// request. Declarative: Apply says what is wanted, own threads of low priority bring the node there.
//
//   ModelStore store(engine, admission, {.load_threads = 2}, gate, on_change);
//   store.Apply({{.name = "digits", .base_path = "/models/digits", .versions = {3}}});
//   ASSIGN_OR_RETURN(const Handle ready, store.Find("digits"));   // Once 3 is available.
//   ready->queue->Submit(...);                                    // Keeps 3 loaded as long as `ready` lives.
//
// A version's way: kStart -> kLoading (gate, load, digest) -> kWarming -> kAvailable -> kUnloading -> kEnd, or kFailed.
// One whose files change while they are loaded goes back to kStart.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "serving-node/models/load_meter.h"
#include "serving-node/models/models.h"

namespace longshore::models {

// The directory of a version: <base>/<version>, or a child with leading zeros. NotFound when there is none.
Result<Path> FindVersionDir(const Path& base_path, int64_t version);

// Thread-safe. The engine and the admission must outlive it.
class ModelStore {
 public:
  struct Options {
    int load_threads = 2;
    int unload_threads = 1;
    std::vector<std::string> tags = {"serve"};
    int warm_up_iterations = 1;
    const LoadMeter* meter = nullptr;  // Null: nobody counts.
    int load_retries_max = 0;          // Further attempts after a failed load.
    std::chrono::milliseconds load_retry_interval{60000};
    // A version that is still being copied is no failure: it is tried again until it stays the same.
    std::chrono::milliseconds copy_retry_interval{1000};
    BatchingOf batching_of{};  // Empty: every version as its model.
    WatchOf watch_of{};        // Empty: nobody looks into runs.
    // A model's versions that are no longer wanted are unloaded before the new ones are loaded: two need not fit into
    // memory at once, and no version answers meanwhile.
    bool unload_first = false;
    // That the versions' estimates (1.2 times the bytes of their files) may come to; one that does not fit is not
    // loaded, and its next attempt comes when another one is gone. 0: no limit.
    int64_t memory_bytes_max = 0;
    bool flush_caches = false;  // After a load its files leave the system's cache.
  };

  // gate and on_change may be empty.
  ModelStore(engine::Engine& engine, batching::Admission& admission, Options options, LoadGate gate,
             OnChange on_change);
  // Unloads everything and waits for it, so every Handle must go.
  ~ModelStore();
  ModelStore(const ModelStore&) = delete;
  ModelStore& operator=(const ModelStore&) = delete;

  // All that the node should hold; what is not named is unloaded. Returns at once. An unwanted version of a model that
  // is still wanted leaves only when every wanted version is settled and at least one of them is available, so a bad
  // new version never takes the old one away. Changed batching applies to the next requests. A version whose directory
  // changed is unloaded first and loaded again from the new one.
  void Apply(std::vector<Wanted> all);

  // Tries a version again that failed for good, while it is still wanted.
  void Retry(const std::string& name, int64_t version);

  // Ready versions: the highest, a certain one, the one of a label. Errors with TensorFlow Serving's texts: NotFound
  // "Servable not found for request: Latest(x)", InvalidArgument "Unrecognized servable version label: x" for
  // a label that the model has not.
  Result<Handle> Find(const std::string& name) const;
  Result<Handle> Find(const std::string& name, int64_t version) const;
  Result<Handle> FindLabel(const std::string& name, const std::string& label) const;

  // Every version that is, or lately was, here, the newest first; empty for an unknown model.
  std::vector<VersionStatus> Statuses(const std::string& name) const;
  // Wanted models, ordered.
  std::vector<std::string> Names() const;
  // Whether Apply was called and every wanted model that has versions to hold has one of them available.
  bool AllAvailable() const;
  // Of all versions in memory, those being unloaded included.
  int64_t memory_bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longshore::models
