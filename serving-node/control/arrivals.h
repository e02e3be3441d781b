// Versions that failed, as something was not there yet or still being copied: each is tried again when its folder has
// changed.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "longshore/control.pb.h"
#include "serving-node/models/model_store.h"
#include "serving-node/sources/sources.h"

namespace longshore::control {

// Belongs to one thread.
class Arrivals {
 public:
  // Looks at the folders of the versions that the node should hold and that failed. Cheap: reads no file.
  void Look(const DesiredState& state, const sources::Sources& sources, models::ModelStore& store);

 private:
  // How the folder looked when it was tried the last time.
  std::map<std::pair<std::string, int64_t>, std::string> seen_;
};

}  // namespace longshore::control
