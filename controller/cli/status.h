// status: whether models and fleets are as their manifests say, and waiting until they are.
#pragma once

#include <iosfwd>

#include "common/clock.h"
#include "common/error.h"
#include "controller/cli/options.h"
#include "controller/store/store.h"

namespace longshore::cli {

// Shows one model, or all models and fleets of a namespace, and returns the exit code: kExitOk when all is as wanted,
// kExitFailed when something failed, kExitTimeout when something is under way; with --wait, still when the time is up.
Result<int> ShowStatus(const Options& options, store::Store& store, const Clock& clock, std::ostream& out);

}  // namespace longshore::cli
