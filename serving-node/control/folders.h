// Watches the folders of the models for new versions. Scans on its own thread, so that a hanging mount delays neither
// reports nor heartbeats; a mount that hangs forever blocks the destructor.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/os/ticker.h"
#include "longshore/control.pb.h"
#include "serving-node/control/failed_version_retrier.h"
#include "serving-node/models/model_store.h"
#include "serving-node/sources/sources.h"

namespace longshore::control {

// Key: served name. Value: the complete versions on disk, the highest first. The controller uses them for models that
// follow the newest version.
using FoundVersions = std::map<std::string, std::vector<int64_t>>;

// Why a folder cannot contain versions. `uri`: the source that was scanned; the model may have another one since.
struct FolderProblem {
  std::string uri;
  std::string message;

  friend bool operator==(const FolderProblem&, const FolderProblem&) = default;
};

struct FolderFindings {
  FoundVersions versions;
  std::map<std::string, FolderProblem> problems;  // By served name.

  friend bool operator==(const FolderFindings&, const FolderFindings&) = default;
};

// Thread-safe.
class FolderWatch {
 public:
  static constexpr size_t kFoundMax = 10;                                      // Found versions per model.
  using StateFunction = std::function<std::shared_ptr<const DesiredState>()>;  // May return null.

  // Scans the folders at once, and after that once per interval, until it is destroyed. Makes the store retry failed
  // versions whose folders changed (failed_version_retrier.h), and calls on_change on its thread when the
  // findings change.
  FolderWatch(StateFunction state, const sources::Sources& sources, models::ModelStore& store,
              std::chrono::milliseconds interval, std::function<void()> on_change);

  FolderFindings found() const;

 private:
  void Scan();

  const StateFunction state_;
  const sources::Sources& sources_;
  models::ModelStore& store_;
  const std::function<void()> on_change_;
  FailedVersionRetrier retrier_;  // Used by the ticker's thread only.
  mutable std::mutex mutex_;      // Guards found_; never held during a scan.
  FolderFindings found_;
  Ticker ticker_;
};

}  // namespace longshore::control
