// What the command line can tell about the controller of a host: whether one is running, when it looked at its objects
// last, and which manifest files it has not read or cannot take.
#pragma once

#include <optional>
#include <string>

#include "common/clock.h"
#include "common/error.h"
#include "controller/cli/options.h"
#include "controller/cli/place.h"
#include "controller/cli/text/standing.h"
#include "controller/store/local/controller_lock.h"

namespace longshore::cli {

struct HostView {
  store::ControllerSeen controller;
  HostSeen seen;  // With the manifests that the options ask about.
};

// nullopt for a cluster. To be called before the objects are read: an object of a manifest that is not in the answer
// is then stored as the manifest says.
Result<std::optional<HostView>> LookAtHost(const Options& options, const Place& place);

// A line for people that says how old the state is when no controller is running or when it does not look at objects;
// "" otherwise.
std::string ControllerNote(const store::ControllerSeen& controller, TimePoint now);

// ControllerNote about the controller of this place; "" for a cluster.
Result<std::string> ControllerNoteOf(const Place& place, TimePoint now);

}  // namespace longshore::cli
