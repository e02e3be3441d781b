// What happened to models, as a table.
#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "controller/api/types.h"

namespace longshore::cli::text {

// Returns the history of all models in the order of time, the newest entry last, as kubectl's events.
std::string EventsTable(const std::vector<api::Model>& models, TimePoint now);

}  // namespace longshore::cli::text
