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

// Belongs to one thread.
class FailedVersionRetrier {
 public:
  // Checks the folders of the failed versions that the node should hold. Cheap: compares names, sizes and times only.
  void RetryChanged(const DesiredState& state, const sources::Sources& sources, models::ModelStore& store);

 private:
  // The state of each version's folder at its last load attempt.
  std::map<std::pair<std::string, int64_t>, std::string> seen_;
};

}  // namespace longshore::control
