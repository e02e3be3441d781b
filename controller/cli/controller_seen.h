// Whether the controller of a place is running, so that no command shows an old state as the present one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "controller/cli/place.h"
#include "controller/kube/api.h"
#include "controller/leader/presence.h"
#include "controller/store/store.h"

namespace longshore::cli {

// Whether a controller may be starting while none is running.
enum class Start {
  kUnlikely,  // The controller was uninstalled, or ended long ago.
  kPossible,
  kExpected  // It was installed, and has never run yet.
};

struct ControllerSeen {
  bool is_absent = false;  // False also if it is not known whether a controller is running.
  std::string note;        // A line for people; "" if a controller is running and reconciles.
  Start start = Start::kPossible;
  int64_t epoch = 0;  // On a cluster, of the term of the leader that is running; 0: not known.
};

// Looks for the controller of a place, again and again while a command watches.
class ControllerSight {
 public:
  // Both must outlive this object.
  ControllerSight(const Place& place, const Clock& clock) : place_(place), clock_(clock) {}

  // On a host, reads the lock of the controller. On a cluster, reads the Lease that the fleets of `shown` name, or the
  // fleets of its Models: at most once per renewal, over one connection. Waits up to leader::Presence::kPatience if the
  // Lease seems to have expired since the last call. If reading fails, the note says so.
  ControllerSeen See(const std::vector<store::Object>& shown);

 private:
  ControllerSeen SeeLease();

  const Place& place_;
  const Clock& clock_;
  const SteadyClock timer_;
  std::unique_ptr<kube::Api> api_;  // nullptr before the first read.
  std::string lease_;               // namespace/name of the Lease that was read.
  leader::Presence presence_;
  ControllerSeen seen_;  // From the last read.
  std::optional<MonotonicPoint> read_at_;
};

}  // namespace longshore::cli
