// status: whether models and fleets are as their manifests say, and waiting until they are.
#pragma once

#include <chrono>
#include <iosfwd>

#include "common/clock.h"
#include "common/error.h"
#include "controller/cli/options.h"
#include "controller/cli/place.h"

namespace longshore::cli {

// Shows one model, or all models and fleets of a namespace, and returns the exit code: kExitOk when all is as wanted,
// kExitFailed when something failed, kExitTimeout when something is under way; with --wait, still when the time is up.
//
// On a host a manifest file that no controller has read yet is under way, and so is an object that the running
// controller has not looked at. kExitNoController when no controller is running; --wait gives one kControllerPatience
// to start.
Result<int> ShowStatus(const Options& options, const Place& place, const Clock& clock, std::ostream& out);

inline constexpr std::chrono::seconds kControllerPatience{5};

}  // namespace longshore::cli
