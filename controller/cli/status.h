// The command "status": shows whether models and fleets are as their manifests say; --wait waits until they are.
#pragma once

#include <chrono>
#include <iosfwd>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "controller/cli/options.h"
#include "controller/cli/place.h"
#include "controller/cli/text/standing.h"

namespace longshore::cli {

// Shows one model, or all models and fleets of a namespace, and returns the exit code: kExitOk if all are as wanted,
// kExitFailed if one failed, kExitTimeout if one is under way (with --wait: still under way when the time is up). With
// --wait, a failure that the controller retries counts once it has lasted for RetriedFailure::kPatience.
//
// On a host, a manifest file that no controller has read yet counts as under way, and so does an object that the
// running controller has not reconciled yet. Returns kExitNoController if no controller is running. With --wait, waits
// at most kControllerPatience for a controller to start; on a cluster not at all if the controller was uninstalled or
// ended long ago, and until the timeout if it was installed and has never run.
Result<int> ShowStatus(const Options& options, const Place& place, const Clock& clock, std::ostream& out);

inline constexpr std::chrono::seconds kControllerPatience{5};

// Tells when a failure that the controller retries has lasted so long that a wait ends: it has been retried at least
// once since it was first seen. Without a controller nothing is retried, so such a time counts as one without a
// failure.
class RetriedFailure {
 public:
  // Longer than the longest pause of the controller between two tries, which is 10 s.
  static constexpr std::chrono::seconds kPatience{15};

  explicit RetriedFailure(std::chrono::steady_clock::time_point now) : since_(now) {}

  // `is_failed`: whether there is such a failure now.
  bool IsOver(bool is_failed, std::chrono::steady_clock::time_point now) {
    if (!is_failed) since_ = now;
    return now - since_ >= kPatience;
  }

 private:
  std::chrono::steady_clock::time_point since_;
};

// What a wait sees at one time.
struct WaitSight {
  bool has_controller;
  text::Standing standing;
  bool has_failed_for_good;  // Something has failed that the controller does not try again.
};

// Whether a wait is over: a controller is running, and either nothing is under way or something has failed for good.
// `failure` must be told everything that the wait sees.
bool IsOver(const WaitSight& sight, std::chrono::steady_clock::time_point now, RetriedFailure& failure);

}  // namespace longshore::cli
