// Keeps requests that failed, in bounded number and size, so that they can be run again: longshore-node replay.
#pragma once

#include <atomic>
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
#include "serving-node/routing/failure.h"

namespace longshore::replay {

struct CaptureOptions {
  Path dir;                              // Made when it is not there, for its owner only.
  size_t files_max = 100;                // With those that are there already.
  size_t bytes_max = size_t{256} << 20;  // As well.
  size_t per_cause_max = 5;              // Of one version with one code, while the process lives.
  capture::Bundle every{};               // What every bundle says: node, software version, tags, flags.
};

// Thread-safe. Store, clock and registry outlive it. What is beyond a limit is counted and not kept: the first failures
// tell the most.
class Capture final : public routing::FailureSink {
 public:
  static constexpr size_t kWaitingMax = 16;
  static constexpr size_t kCausesMax = 1000;

  Capture(CaptureOptions options, const models::ModelStore& store, const Clock& clock, metrics::Registry& registry);
  ~Capture() override;  // Writes what waits.

  void Offer(const routing::Failure& failure) override;
  // Waits until what was offered before is written.
  void Flush() { writer_.Flush(); }

 private:
  struct Kept;
  struct Counts;
  using Cause = std::tuple<std::string, int64_t, Code>;
  bool Admit(const Cause& cause);
  void Keep(const Kept& kept);
  Path NextFile(const std::string& stamp, const std::string& what);
  Status Write(const Path& file, const std::string& text) const;

  const CaptureOptions options_;
  const models::ModelStore& store_;
  const Clock& clock_;
  const std::shared_ptr<Counts> counts_;  // The registry shows it as long as it lives.
  std::mutex mutex_;                      // Guards causes_.
  std::map<Cause, size_t> causes_;
  int sequence_ = 0;  // Only the writer's.
  Worker writer_;     // Last: it uses the rest.
};

}  // namespace longshore::replay
