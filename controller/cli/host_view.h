// The state of the controller of a host: whether one is running, when it last reconciled its objects, and which
// manifest files it has not read or has rejected.
#pragma once

#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "controller/cli/options.h"
#include "controller/cli/place.h"
#include "controller/cli/text/standing.h"
#include "controller/store/local/controller_lock.h"

namespace longshore::cli {

struct HostView {
  store::local::ControllerLockState controller;
  text::HostSeen seen;  // Contains only the manifests that the options select.
};

// Returns nullopt for a cluster. Call it before you read the objects: then each manifest that the result does not name
// has been applied to the objects that you read.
Result<std::optional<HostView>> ReadHostView(const Options& options, const Place& place);

// Returns a line for each object of the listing that differs from its manifest file, and for each one that the options
// select and that a file defines, but that does not exist; "" if there are none, as for a cluster.
std::string DisagreementsText(const Options& options, const Place& place, const store::Listing& listing);

// Returns a line that says when a controller last reconciled the objects if no controller is running or the running one
// has stopped reconciling, or why it cannot write them; "" otherwise.
std::string ControllerNote(const store::local::ControllerLockState& controller, TimePoint now);

}  // namespace longshore::cli
