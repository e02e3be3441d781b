// The commands that only look: get, describe, explain.
#pragma once

#include <iosfwd>

#include "common/clock.h"
#include "common/error.h"
#include "controller/cli/options.h"
#include "controller/store/store.h"

namespace longshore::cli {

Status Get(const Options& options, store::Store& store, const Clock& clock, std::ostream& out);
Status Describe(const Options& options, store::Store& store, const Clock& clock, std::ostream& out);
Status Explain(const Options& options, store::Store& store, const Clock& clock, std::ostream& out);

}  // namespace longshore::cli
