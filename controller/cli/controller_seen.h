// Whether the controller of a place is running, so that no command shows an old state as the present one.
#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "controller/cli/place.h"
#include "controller/store/store.h"

namespace longshore::cli {

struct ControllerSeen {
  bool is_absent = false;  // False also if it is not known whether a controller is running.
  std::string note;        // A line for people; "" if a controller is running and reconciles.
};

// On a host, reads the lock of the controller. On a cluster, reads the Lease that the fleets of `shown` name, or the
// fleets of its Models; waits up to leader::Presence::kPatience if the Lease seems to have expired.
Result<ControllerSeen> SeeController(const Place& place, const std::vector<store::Object>& shown, const Clock& clock);

}  // namespace longshore::cli
