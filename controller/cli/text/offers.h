// The commands that the controller would execute now, as lines that a user can copy.
//
// Pure, like text.h.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "controller/api/types.h"

namespace longshore::cli::text {

// Returns one line for each command in status.accepted_commands, with what it would do; "" if no command would be
// executed. `place`: the arguments
// by which `longshore` finds the objects, for example " --manifests /m", or "".
std::string OffersText(const api::Model& model, const std::string& place, TimePoint now);

// A complete command line: "longshore retry digits -n vision".
std::string CommandLine(const std::string& verb, const api::Metadata& metadata, const std::string& place);

// Whether the controller would execute the command now. False if the manifest has changed since its last decision.
bool IsAccepted(const api::Model& model, const std::string& verb);

}  // namespace longshore::cli::text
