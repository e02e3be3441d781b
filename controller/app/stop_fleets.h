// How the objects of a host learn that their nodes have been ended.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "controller/fleet/processes/named_nodes.h"
#include "controller/store/store.h"

namespace longshore::app {

// How long nodes that are to end may go on with their requests.
inline constexpr std::chrono::seconds kDrainMax{120};

// Ends all nodes.
using End = std::function<Result<fleet::processes::StoppedNodes>()>;

// Writes to the status of each fleet and Model that it is not Ready, because `by` is ending the nodes; calls `end`; and
// writes that `by` has ended them, and that no node is left. Returns the first error after it has tried everything; if
// `end` fails, the statuses remain at "is ending". The next controller writes the statuses anew.
Result<fleet::processes::StoppedNodes> EndNodes(store::Store& store, const std::string& by, const Clock& clock,
                                                const End& end);

}  // namespace longshore::app
