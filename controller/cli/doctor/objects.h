// Checks of fleets and models by their statuses. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.h"
#include "controller/api/types.h"
#include "controller/cli/doctor/finding.h"
#include "controller/cli/text/standing.h"

namespace longshore::cli::doctor {

// `place`: arguments by which commands find the objects: " --manifests /m"; "" if none are needed.
Findings CheckFleets(const std::vector<api::ServingFleet>& fleets, const text::HostSeen& seen,
                     const std::string& place);
Findings CheckModels(const std::vector<api::Model>& models, const text::HostSeen& seen, const std::string& place);

// An object that exists but cannot be read. `why` names the place, for example a file.
Finding CheckUnreadable(const api::Key& key, const std::string& why);
// All objects of a kind could not be read.
Finding CheckUnlisted(const std::string& kind, const Error& error);

}  // namespace longshore::cli::doctor
