// Keeps requests that failed, in bounded number and size, so that they can be run again: longshore-node replay.
// Failures of the version, that is: one whose deadline passed, or that found the node busy, shows nothing alone.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "common/clock.h"
#include "common/file.h"
#include "common/metrics/metrics.h"
#include "common/worker.h"
#include "longshore/capture.pb.h"
#include "serving-node/models/model_store.h"
#include "serving-node/replay/bundle.h"
#include "serving-node/routing/failure.h"
#include "serving-node/routing/origin_search.h"

namespace longshore::replay {

struct CaptureOptions {
  Path dir;                              // Made when it is not there, for its owner only.
  size_t files_max = 100;                // With those that are there already.
  size_t bytes_max = size_t{256} << 20;  // As well.
  size_t per_cause_max = 5;              // Of one version with one code, in that time.
  std::chrono::seconds cause_time{3600};
  std::chrono::milliseconds pause_on_error{10'000};  // After one that could not be kept, before the next is tried.
  capture::Bundle every{};                           // What every bundle says: node, software version, tags, flags.
};

// Thread-safe. Store, search, clock and registry outlive it. What is beyond a limit is counted and not kept: the first
// failures tell the most.
class Capture final : public routing::FailureSink {
 public:
  static constexpr size_t kWaitingMax = 16;
  static constexpr size_t kWaitingBytesMax = kBundleBytesMax;  // Of their requests.
  static constexpr size_t kCausesMax = 1000;

  Capture(CaptureOptions options, const models::ModelStore& store, routing::OriginSearch& origins, const Clock& clock,
          metrics::Registry& registry);
  ~Capture() override;  // Writes what waits.

  void Offer(const routing::Failure& failure) override;
  // Waits until what was offered before is written.
  void Flush() { writer_.Flush(); }

 private:
  struct Kept;
  struct Counts;
  using Cause = std::tuple<std::string, int64_t, Code>;
  // What of a cause's share is spent.
  struct Spent {
    size_t kept = 0;
    size_t waiting = 0;
    TimePoint since;  // When the first of them was offered.
  };
  bool Admit(const Cause& cause, size_t bytes, TimePoint now);
  void Settle(const Cause& cause, size_t bytes, bool is_kept);
  Status Keep(const Kept& kept);
  capture::Bundle BundleOf(const Kept& kept) const;
  std::string OriginOf(const Kept& kept) const;
  Path NextFile(const std::string& what);
  Status CheckRoom(size_t bytes) const;
  Status Write(const Path& file, const std::string& text) const;

  const CaptureOptions options_;
  const models::ModelStore& store_;
  routing::OriginSearch& origins_;
  const Clock& clock_;
  const std::shared_ptr<Counts> counts_;  // The registry shows it as long as it lives.
  std::mutex mutex_;                      // Guards the next three.
  std::map<Cause, Spent> causes_;
  size_t waiting_bytes_ = 0;
  TimePoint paused_until_;
  int sequence_ = 0;  // Only the writer's.
  Worker writer_;     // Last: it uses the rest.
};

}  // namespace longshore::replay
