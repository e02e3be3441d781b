// Stores failed requests, in limited number and size, so that they can be replayed with `longshore-node replay`. Only
// failures that the version caused are stored. A request that missed its deadline or came to an overloaded node failed
// because of the load, which a replay cannot reproduce. Requests that a candidate answered differently from stable are
// stored, too: the worst ones of each candidate (worst.h).
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/clock.h"
#include "common/base/path.h"
#include "common/metrics/metrics.h"
#include "common/os/worker.h"
#include "common/storage/write_health.h"
#include "longshore/capture.pb.h"
#include "serving-node/models/model_store.h"
#include "serving-node/observe/replay/bundle.h"
#include "serving-node/observe/replay/worst.h"
#include "serving-node/routing/failure.h"
#include "serving-node/routing/origin_search.h"

namespace longshore::replay {

struct CaptureOptions {
  Path dir;                              // Created if it is missing; only its owner may use it.
  size_t files_max = 100;                // Bundles in the directory, existing ones included.
  size_t bytes_max = size_t{256} << 20;  // The bytes of these bundles together. Differences have half of both limits.
  size_t per_cause_max = 5;              // Bundles of one version with the same error code within cause_time.
  std::chrono::seconds cause_time{3600};
  std::chrono::milliseconds pause_on_error{10'000};  // The time between a failed write and the next attempt.
  capture::Bundle every{};  // The fields that all bundles have: node, software version, tags, flags.
};

// Thread-safe. Store, search, clock and registry must outlive it. Failures above a limit are counted but not stored:
// the first failures are the most useful ones. All limits but per_cause_max also hold for differences, which may use
// half of files_max and bytes_max, so that there is room for failures. A difference that finds no room is left out.
class Capture final : public routing::FailureSink {
 public:
  static constexpr size_t kWaitingMax = 16;
  static constexpr size_t kWaitingBytesMax = kBundleBytesMax;  // Bytes of all requests that wait to be written.
  static constexpr size_t kCausesMax = 1000;

  Capture(CaptureOptions options, const models::ModelStore& store, routing::OriginSearch& origins, const Clock& clock,
          metrics::Registry& registry);
  ~Capture() override;  // Writes the waiting requests.

  void Offer(const routing::Failure& failure) override;
  void Offer(const routing::Difference& difference) override;
  // Blocks until everything offered before this call is written.
  void Flush() { writer_.Flush(); }

  // Whether the last bundle could be written, or the next one can be.
  const storage::WriteHealth& health() const { return health_; }
  void TryAgain();

 private:
  struct Kept;
  struct Counts;
  using Cause = std::tuple<std::string, int64_t, Code>;
  // How much of the limit per_cause_max a cause has used.
  struct Spent {
    size_t kept = 0;
    size_t waiting = 0;
    TimePoint since;  // When the first request with this cause was offered.
  };
  bool HasRoom(size_t bytes, TimePoint now) const;
  bool Admit(const Cause& cause, size_t bytes, TimePoint now);
  bool Admit(size_t bytes, TimePoint now);
  void Post(const std::shared_ptr<const Kept>& kept);
  void Settle(const Kept& kept, bool is_kept);
  Result<bool> Keep(const Kept& kept);
  capture::Bundle BundleOf(const Kept& kept) const;
  std::string DirOf(const std::string& model, int64_t version) const;
  std::string OriginOf(const Kept& kept) const;
  Path NextFile(const std::string& what);
  Status CheckRoom(size_t bytes, const std::vector<BundleFile>& held) const;
  Result<std::optional<std::vector<Path>>> RoomFor(const Kept& kept, size_t bytes) const;
  void CreateDir() const;
  Status Write(const Path& file, const std::string& text, const std::vector<Path>& replaced);

  const CaptureOptions options_;
  storage::WriteHealth health_{"captures"};
  const models::ModelStore& store_;
  routing::OriginSearch& origins_;
  const Clock& clock_;
  const std::shared_ptr<Counts> counts_;  // Shared with the registry, which may outlive the capture.
  std::mutex mutex_;                      // Guards the next three members.
  std::map<Cause, Spent> causes_;
  size_t waiting_bytes_ = 0;
  TimePoint paused_until_;
  int sequence_ = 0;  // Only writer_ uses it.
  Worker writer_;     // Declared last: its tasks use the other members.
};

}  // namespace longshore::replay
