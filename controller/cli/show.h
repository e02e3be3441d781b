// The commands that only look: get, describe, explain.
#pragma once

#include <iosfwd>

#include "common/clock.h"
#include "common/error.h"
#include "controller/cli/options.h"
#include "controller/cli/place.h"

namespace longshore::cli {

// As text, each says below the objects how old the state is when no controller of the host is running; get also says
// where a manifest file and its object disagree.
Status Get(const Options& options, const Place& place, const Clock& clock, std::ostream& out);
Status Describe(const Options& options, const Place& place, const Clock& clock, std::ostream& out);
Status Explain(const Options& options, const Place& place, const Clock& clock, std::ostream& out);

}  // namespace longshore::cli
