// What the command line shows: values in, text out.
//
// Pure: the time is an argument, so that the same object always gives the same text (tests/golden/cli).
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/api/types.h"

namespace longshore::cli {

// One row per object; a sentence that says what to do when there is none.
std::string ModelsTable(const std::vector<api::Model>& models, TimePoint now);
std::string FleetsTable(const std::vector<api::ServingFleet>& fleets);

// Everything about one object, in sections.
std::string DescribeModel(const api::Model& model, TimePoint now);
std::string DescribeFleet(const api::ServingFleet& fleet, TimePoint now);

// "2 -> 3, step 2 of 3 at 25 %" or "-" when no rollout is under way.
std::string RolloutInShort(const api::Model& model);

// "12s", "3m", "5h", "2d": how long ago, for people; "-" for TimePoint{}.
std::string Age(TimePoint at, TimePoint now);

// "5 %", "0.1 %".
std::string Percent(double percent);

}  // namespace longshore::cli
