// What to say about objects that do not exist.
#pragma once

#include <string>
#include <vector>

#include "controller/cli/options.h"
#include "controller/cli/place.h"

namespace longshore::cli {

// Returns one line for an answer without objects: names the namespace, and says so if it does not exist or no
// controller watches it. `kinds`: those that the user asked for.
std::string NothingText(const Options& options, const Place& place, const std::vector<std::string>& kinds);

// Returns why no controller serves the namespace, and what to do; "" if one does or this is not known, and on a host.
std::string WhyUnwatched(const std::string& namespace_, const Place& place);

// Returns where on the cluster there are objects with the names of the options, for the end of an error message: ";
// there is one in namespace vision"; "" without such objects, if this user may not list them, or on a host.
std::string ElsewhereText(const Options& options, const Place& place);

}  // namespace longshore::cli
