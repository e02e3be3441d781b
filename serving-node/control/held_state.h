// The desired state that this node holds: in <state_dir>/desired.pb, and applied to the node's parts.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "common/error.h"
#include "common/file.h"
#include "longshore/control.pb.h"
#include "serving-node/control/agent.h"

namespace longshore::control {

// Thread-safe; one change at a time. `deps` outlive it.
class HeldState {
 public:
  HeldState(const Path& state_dir, std::string fleet, const AgentDeps& deps)
      : file_(state_dir / "desired.pb"), fleet_(std::move(fleet)), deps_(deps) {}

  // Applies what lies on the disk; ok when nothing does. DataLoss when it is damaged, FailedPrecondition when it is of
  // another fleet.
  Status ReadDisk();

  // Applies what a controller wants: on the disk first, so that what is acknowledged survives. Errors as in desired.h.
  Status Receive(const FromController& message);

  // Takes what a peer holds (desired.h: FromPeer), unless there is a state already.
  Status Adopt(const DesiredState& of_peer);

  // More of what the state wants can be had now than when it was applied: a source is ready.
  void ApplyAgain();

  // Null when there is none.
  std::shared_ptr<const DesiredState> get() const;

 private:
  Status WriteAndTake(DesiredState next);
  void Take(std::shared_ptr<const DesiredState> next);

  const Path file_;
  const std::string fleet_;
  const AgentDeps& deps_;
  std::mutex change_mutex_;
  mutable std::mutex mutex_;  // Guards state_; never held while another part is called.
  std::shared_ptr<const DesiredState> state_;
};

}  // namespace longshore::control
