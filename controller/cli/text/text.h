// Formats models and fleets as text for the terminal.
//
// Pure: the time is an argument, so the same object always gives the same text (tests/golden/cli).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "controller/api/types.h"

namespace longshore::cli::text {

struct TableStyle {
  bool wide = false;  // More columns.
  bool headers = true;
  bool with_kind = false;  // Names as "model/digits", because the output has tables of several kinds.
};

// Returns a table with one row per object.
std::string ModelsTable(const std::vector<api::Model>& models, TimePoint now, const TableStyle& style = {});
std::string FleetsTable(const std::vector<api::ServingFleet>& fleets, const TableStyle& style = {});

// Returns everything about one object, in sections.
std::string DescribeModel(const api::Model& model, TimePoint now);
std::string DescribeFleet(const api::ServingFleet& fleet, TimePoint now);

// What the nodes report against the candidate of the rollout in progress, for example that its files are missing; "" if
// they report nothing.
std::string CauseOf(const api::Model& model);

// When the numbers of the verdict were last updated; nullopt unless a rollout is under way that has been judged. On a
// cluster the controller writes them only now and then, unless it decides something.
std::optional<TimePoint> TimeOfNumbers(const api::Model& model);
// The age of these numbers; "" if they are new.
std::string AgeOfNumbers(const api::Model& model, TimePoint now);

// Why no version answers requests, for example because the fleet does not exist; "" if one does.
std::string WhyNothingServes(const api::Model& model);

// Whether the version that serves fails its golden set.
bool FailsGoldenSet(const api::Model& model);
// Whether nodes lack a version that they should have.
bool LacksNodes(const api::Model& model);

// Returns, for example, "2 -> 3, step 2 of 3 at 25 %", or "new: 1, Loading" for a first version; "-" when no rollout is
// under way.
std::string RolloutInShort(const api::Model& model);

// The time since `at`, as "12s", "3m", "5h" or "2d"; "-" for TimePoint{}.
std::string Age(TimePoint at, TimePoint now);

// Formats a percentage: "5 %", "0.1 %".
std::string Percent(double percent);

}  // namespace longshore::cli::text
