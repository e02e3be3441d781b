// The versions of models that this node holds: loading beside, warming, swapping, unloading after the last request.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/file.h"
#include "serving-node/batching/batching.h"
#include "serving-node/engine/engine.h"

namespace longshore::models {

enum class State { kStart, kTrial, kLoading, kWarming, kAvailable, kUnloading, kEnd, kFailed };

// A version that can answer. Whoever holds the pointer keeps it loaded: unloading waits for the last holder.
struct ReadyVersion {
  std::string model;
  int64_t version = 0;
  std::shared_ptr<engine::LoadedModel> loaded;
  std::shared_ptr<batching::Queue> queue;  // Runs of this version go through it.
};
using Handle = std::shared_ptr<const ReadyVersion>;

// What the node should hold of one model. Declarative: Apply brings the node there, new versions first.
struct Wanted {
  std::string name;
  Path base_path;                   // Holds <version>/saved_model.pb.
  std::vector<int64_t> versions{};  // Which to hold.
  std::map<std::string, int64_t> labels{};
  batching::Options batching{};
  bool warm_up = true;                         // Run it before it is available (warm_up.h).
  bool deterministic = false;                  // As of engine::LoadOptions, of what is loaded from now on.
  std::map<int64_t, Path> other_base_paths{};  // Of versions that lie elsewhere.

  const Path& BasePathOf(int64_t version) const {
    const auto other = other_base_paths.find(version);
    return other == other_base_paths.end() ? base_path : other->second;
  }
};

struct VersionStatus {
  int64_t version = 0;
  State state = State::kStart;
  Error error;  // kOk unless the version failed.
  int64_t memory_bytes = 0;
  std::string digest;  // SHA-256 in hex over the version's files; "" until computed.
  Path base_path;      // Where it lay when its load began.
};

// Before a version is loaded in this process; runs on a loading thread. An error fails the load with it.
using LoadGate = std::function<Status(const std::string& model, int64_t version, const Path& version_dir)>;
// How a version wants its requests joined, by a file in its directory; nullopt: as its model does. An error fails the
// load with it.
using BatchingOf = std::function<Result<std::optional<batching::Options>>(const Path& version_dir)>;
// Who looks into the runs of a version.
using WatchOf = std::function<std::shared_ptr<batching::RunWatch>(const std::string& model, int64_t version)>;
// After every change of a version's state; any thread, no lock held.
using OnChange = std::function<void(const std::string& model, const VersionStatus& status)>;

}  // namespace longshore::models
