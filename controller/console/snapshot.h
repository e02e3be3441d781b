// What the pages show about objects and manifest files, read at one time, and a cache of it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/path.h"
#include "controller/api/types.h"
#include "controller/cli/host/disagreement.h"
#include "controller/cli/text/standing.h"
#include "controller/store/store.h"

namespace longshore::console {

using cli::text::HostSeen;

struct Snapshot {
  std::vector<api::ServingFleet> fleets{};
  std::vector<api::Model> models{};
  std::vector<store::Unreadable> unreadable{};
  HostSeen seen{};  // What `longshore status` knows about the controller and the manifest files.
  std::vector<cli::host::Disagreement> disagreements{};
};

// `manifests`: the directory of manifest files, "" on a cluster. `epoch`: that of the controller.
Result<Snapshot> ReadSnapshot(store::Store& store, const Path& manifests, int64_t epoch);

// Returns the object, NotFound if the snapshot does not have it, or DataLoss if it could not be read.
Result<const api::Model*> FindModel(const Snapshot& snapshot, const api::Key& key);
Result<const api::ServingFleet*> FindFleet(const Snapshot& snapshot, const api::Key& key);

// Shares one snapshot between all requests of an interval, because to read one takes time in proportion to the number
// of objects, however many pages are open. Thread-safe.
class SnapshotCache {
 public:
  using SnapshotPtr = std::shared_ptr<const Snapshot>;
  using Read = std::function<Result<Snapshot>()>;

  // A snapshot is shared for this time, or for kReadShareMax times the time that it took to read it if that is longer:
  // so reading takes at most about a tenth of one processor.
  static constexpr Duration kInterval = std::chrono::seconds(1);
  static constexpr int kReadShareMax = 10;

  SnapshotCache(Read read, const MonotonicClock& clock) : read_(std::move(read)), clock_(clock) {}

  // Calls `read` if the shared result is too old; other threads wait for its result. An error is shared in the same
  // way.
  Result<SnapshotPtr> Get();

 private:
  const Read read_;
  const MonotonicClock& clock_;
  std::mutex mutex_;  // Guards the next two members.
  std::optional<Result<SnapshotPtr>> shared_;
  MonotonicPoint shared_until_{};
};

}  // namespace longshore::console
