// The models of a node, for the model repository extension.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace longshore::frontend::oip {

// Thread-safe. Its functions must not block.
class Repository {
 public:
  using Done = std::function<void(Status)>;

  virtual ~Repository() = default;

  // The models that the node serves or could load, sorted by name.
  virtual std::vector<std::string> Names() const = 0;

  // Loads a model again that Unload has set aside. Calls `done` once, on any thread, when a version is available; at
  // once if the model is loaded. NotFound if the node's configuration does not name the model, Unavailable if no
  // version can be loaded, DeadlineExceeded if that takes longer, FailedPrecondition if the node does not choose its
  // models.
  virtual void Load(const std::string& model, std::chrono::steady_clock::time_point deadline, Done done) = 0;

  // Sets a model aside: unloads it until it is loaded again or the node gets a changed configuration. Calls `done`
  // once, when the unloading has begun. NotFound and FailedPrecondition as in Load.
  virtual void Unload(const std::string& model, Done done) = 0;
};

}  // namespace longshore::frontend::oip
