// Whether an object is as its manifest says: for a glance, and for scripts.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/api/types.h"

namespace longshore::cli {

// kFailed: it does not get there without help.
enum class Standing { kAsWanted, kUnderWay, kFailed };

struct Report {
  Standing standing = Standing::kAsWanted;
  std::string why;  // Without any time in it: it changes when something happened.
};
Report ReportOf(const api::Model& model);
Report ReportOf(const api::ServingFleet& fleet);

// Failed when any is, under way when any is.
Standing StandingOf(const std::vector<api::ServingFleet>& fleets, const std::vector<api::Model>& models);

// One row per object.
std::string StatusTable(const std::vector<api::ServingFleet>& fleets, const std::vector<api::Model>& models);
// One model in some lines.
std::string StatusOfModel(const api::Model& model, TimePoint now);

}  // namespace longshore::cli
