// Loads and unloads the versions that the node should hold. A new version is loaded and warmed up while the old one
// serves, then replaces it; the old one is unloaded after its last request. Declarative: Apply sets the wanted state,
// and the store's own low-priority threads establish it.
//
//   ModelStore store(engine, admission, {.load_threads = 2}, gate, on_change);
//   store.Apply({{.name = "digits", .base_path = "/models/digits", .versions = {3}}});
//   ASSIGN_OR_RETURN(const Handle ready, store.Find("digits"));   // Succeeds once 3 is available.
//   ready->queue->Submit(...);                                    // Keeps 3 loaded as long as `ready` lives.
//
// States of a version: kStart -> kLoading (gate, load, digest) -> kWarming -> kAvailable -> kUnloading -> kEnd, or
// kFailed. A version whose files change while they are loaded returns to kStart.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "serving-node/models/load_meter.h"
#include "serving-node/models/models.h"

namespace longshore::models {

// Thread-safe. The engine and the admission must outlive it.
class ModelStore {
 public:
  struct Options {
    int load_threads = 2;
    int unload_threads = 1;
    std::vector<std::string> tags = {"serve"};
    int warm_up_iterations = 1;
    const LoadMeter* meter = nullptr;  // Null: loads are not counted.
    int load_retries_max = 0;          // How many further attempts follow a failed load.
    std::chrono::milliseconds load_retry_interval{60000};
    // A load that finds its files still being copied does not count as failed. It is tried again at this interval until
    // the files stop changing.
    std::chrono::milliseconds copy_retry_interval{1000};
    BatchingOf batching_of{};  // Empty: every version uses the batching of its model.
    WatchOf watch_of{};        // Empty: runs are not recorded.
    // Unload a model's unwanted versions before loading the new ones. Then the old and the new versions need not fit
    // into memory together, but no version of the model is available in between.
    bool unload_first = false;
    // Unload a model's unwanted versions also if a new version lacks memory, although no version of the model is
    // available then. For a node whose peers answer meanwhile.
    bool unload_for_memory = false;
    // The limit for the sum of the versions' memory estimates (1.2 times the bytes of their files). A version that does
    // not fit fails to load and is tried again when another one is unloaded. 0: no limit.
    int64_t memory_bytes_max = 0;
    bool flush_caches = false;  // After a load, drop the version's files from the page cache.
  };

  // `gate` and `on_change` may be empty functions.
  ModelStore(engine::Engine& engine, batching::Admission& admission, Options options, LoadGate gate,
             OnChange on_change);
  // Unloads all versions. Blocks until every Handle is released and every version is unloaded.
  ~ModelStore();
  ModelStore(const ModelStore&) = delete;
  ModelStore& operator=(const ModelStore&) = delete;

  // Sets everything that the node should hold; all other versions are unloaded. Returns at once. If a model still has
  // wanted versions, then without unload_first its unwanted versions are unloaded only when every wanted version is
  // available or failed and at least one is available (but see unload_for_memory), so a bad new version never removes
  // the old one. Changed batching applies to the next requests. A version whose directory changed is unloaded and then
  // loaded from the new directory.
  void Apply(std::vector<Wanted> all);

  // Starts a new load of a wanted version that has failed or waits for a retry.
  void Retry(const std::string& name, int64_t version);

  // These return the highest available version, a specific version, and the version of a label. Errors have TensorFlow
  // Serving's texts: NotFound "Servable not found for request: Latest(x)"; InvalidArgument "Unrecognized servable
  // version label: x" if the model does not have the label.
  Result<Handle> Find(const std::string& name) const;
  Result<Handle> Find(const std::string& name, int64_t version) const;
  Result<Handle> FindLabel(const std::string& name, const std::string& label) const;

  // Returns current and recently unloaded versions, the highest first; an empty list for an unknown model.
  std::vector<VersionStatus> Statuses(const std::string& name) const;
  // The wanted models, sorted by name.
  std::vector<std::string> Names() const;
  // Whether Apply was called and every wanted model that has versions to hold has one of them available.
  bool AllAvailable() const;
  // The memory of all versions together, including those that are being unloaded.
  int64_t memory_bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longshore::models
