// Retries versions that failed to load (for example, because files were missing or still being copied) when their
// folders change.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "longshore/control.pb.h"
#include "serving-node/models/model_store.h"
#include "serving-node/sources/sources.h"

namespace longshore::control {

// Not thread-safe: one thread uses it.
class FailedVersionRetrier {
 public:
  // Checks the folders of the failed versions that the node should hold, and retries those whose folders changed.
  // Cheap: compares only names, sizes and modification times.
  void RetryChanged(const DesiredState& state, const sources::Sources& sources, models::ModelStore& store);

 private:
  // Key: served name and version. Value: the contents of the version's folder at the last load attempt.
  std::map<std::pair<std::string, int64_t>, std::string> seen_;
};

}  // namespace longshore::control
