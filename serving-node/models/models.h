// Types shared by the loading and serving of model versions.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "serving-node/batching/batching.h"
#include "serving-node/engine/engine.h"

namespace longshore::models {

enum class State { kStart, kRehearsal, kLoading, kWarming, kAvailable, kUnloading, kEnd, kFailed };

// A version that can answer requests. It stays loaded while a Handle exists: unloading waits for the last one.
struct ReadyVersion {
  std::string model;
  int64_t version = 0;
  std::shared_ptr<engine::LoadedModel> loaded;
  std::shared_ptr<batching::Queue> queue;  // All runs of this version must use it.
};
using Handle = std::shared_ptr<const ReadyVersion>;

// A version that gets no share of the requests yet, such as a candidate in a rollout's phase Shadow. It gives its
// memory to versions that are not of this kind: it is loaded after them, not in the memory for which they wait, and
// unloaded if one of them lacks memory.
struct GivesWay {
  int64_t memory_bytes_max = 0;  // It is not loaded if it needs more than this; 0: no such limit.
};

// The wanted state of one model (ModelStore::Apply).
struct Wanted {
  std::string name;
  Path base_path;                   // Holds <version>/saved_model.pb.
  std::vector<int64_t> versions{};  // The versions to hold.
  std::map<std::string, int64_t> labels{};
  batching::Options batching{};
  bool warm_up = true;                         // Warm up a version before it is available (warm_up.h).
  bool deterministic = false;                  // See engine::LoadOptions; applies to later loads.
  std::map<int64_t, Path> other_base_paths{};  // For versions that are not under base_path.
  std::map<int64_t, GivesWay> giving_way{};    // The versions that give way to others.

  const Path& BasePathOf(int64_t version) const {
    const auto other = other_base_paths.find(version);
    return other == other_base_paths.end() ? base_path : other->second;
  }
};

// Why a version does not fit into the memory of the store.
struct MemoryShortage {
  int64_t needed_bytes = 0;
  int64_t free_bytes = 0;     // What was free for the version when it was refused, or GivesWay::memory_bytes_max.
  bool by_own_limit = false;  // Whether it was refused because of GivesWay::memory_bytes_max.
};

struct VersionStatus {
  int64_t version = 0;
  State state = State::kStart;
  Error error;  // The error of the last load; kOk if it did not fail.
  int64_t memory_bytes = 0;
  std::string digest;                               // SHA-256 in hex over the version's files; "" until computed.
  Path base_path;                                   // The base path from which the last load read the version.
  std::optional<MemoryShortage> memory_shortage{};  // Set if the last load did not get its memory.
};

// Called before a version is loaded in this process, on a loading thread. An error becomes the error of the load.
using LoadGate = std::function<Status(const std::string& model, int64_t version, const Path& version_dir)>;
// Reads a version's own batching options from a file in its directory. nullopt means that the version uses the options
// of its model. An error becomes the error of the load.
using BatchingOf = std::function<Result<std::optional<batching::Options>>(const Path& version_dir)>;
// Returns the object that records a version's runs, or null if they are not recorded.
using WatchOf = std::function<std::shared_ptr<batching::RunWatch>(const std::string& model, int64_t version)>;
// Called after every change of a version's state. May be called on any thread; the caller holds no lock.
using OnChange = std::function<void(const std::string& model, const VersionStatus& status)>;

}  // namespace longshore::models
