// The desired state that this node holds: persisted in <state_dir>/desired.pb and applied to the node's components.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "common/base/error.h"
#include "common/base/path.h"
#include "longshore/control.pb.h"
#include "serving-node/control/agent_deps.h"

namespace longshore::control {

// Thread-safe; changes are made one at a time. `deps` must outlive it.
class HeldState {
 public:
  HeldState(const Path& state_dir, std::string fleet, const AgentDeps& deps)
      : file_(state_dir / "desired.pb"), fleet_(std::move(fleet)), deps_(deps) {}

  // Applies the state on disk, if there is one. Returns DataLoss if the file is damaged, FailedPrecondition if the
  // state belongs to another fleet.
  Status ReadDisk();

  // Applies a message of a controller. Writes the new state to disk first, so that an acknowledged state survives a
  // restart. Returns the errors of ApplyMessage (desired.h), or that of the write.
  Status Receive(const FromController& message);

  // Takes the state of a peer (desired.h: FromPeer), unless this node has a state already.
  Status Adopt(const DesiredState& of_peer);

  // Applies the state again; call it when a source has become ready, so that its versions can be loaded.
  void ApplyAgain();

  // Returns null before the first state.
  std::shared_ptr<const DesiredState> get() const;

 private:
  Status WriteAndApply(DesiredState next);
  void ApplyAndHold(std::shared_ptr<const DesiredState> next);

  const Path file_;
  const std::string fleet_;
  const AgentDeps& deps_;
  std::mutex change_mutex_;
  mutable std::mutex mutex_;  // Guards state_; never held during calls to other components.
  std::shared_ptr<const DesiredState> state_;
};

}  // namespace longshore::control
