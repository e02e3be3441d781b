// What lies in the folders of the models. They are looked at on a thread of its own, as a mount that hangs must stop no
// report and no heartbeat; one that hangs for ever keeps the watch from ending.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/ticker.h"
#include "longshore/control.pb.h"
#include "serving-node/control/arrivals.h"
#include "serving-node/models/model_store.h"
#include "serving-node/sources/sources.h"

namespace longshore::control {

// By served name: complete versions that the state does not name, the newest first. A model without a version follows
// the newest.
using FoundVersions = std::map<std::string, std::vector<int64_t>>;

// Thread-safe.
class FolderWatch {
 public:
  static constexpr size_t kFoundMax = 10;                                      // Of one model.
  using StateFunction = std::function<std::shared_ptr<const DesiredState>()>;  // May return null.

  // Looks now and then once per interval, until it is destroyed; has the store try again what arrived (arrivals.h), and
  // calls on_change, on its thread, when other versions are found.
  FolderWatch(StateFunction state, const sources::Sources& sources, models::ModelStore& store,
              std::chrono::milliseconds interval, std::function<void()> on_change);

  FoundVersions found() const;

 private:
  void Look();

  const StateFunction state_;
  const sources::Sources& sources_;
  models::ModelStore& store_;
  const std::function<void()> on_change_;
  Arrivals arrivals_;         // Of the ticker's thread.
  mutable std::mutex mutex_;  // Guards found_; never held while a folder is looked at.
  FoundVersions found_;
  Ticker ticker_;
};

}  // namespace longshore::control
