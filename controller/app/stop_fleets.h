// How the objects of a host learn that their nodes have been ended.
#pragma once

#include <chrono>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "controller/store/store.h"

namespace longshore::app {

// How long nodes that are to end may go on with their requests.
inline constexpr std::chrono::seconds kDrainMax{120};

// Writes to the status of each fleet that it has no nodes, and to that of each Model that no node has it. Neither is
// Ready, because of `why`. Tries all objects, and returns the first error. The next controller writes the statuses
// anew.
Status WriteStopped(store::Store& store, const std::string& why, TimePoint now);

}  // namespace longshore::app
