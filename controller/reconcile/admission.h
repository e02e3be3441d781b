// Whether a fleet takes a Model: by its namespace, and by the fleet's quotas. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/api/types.h"

namespace longshore::reconcile {

// A Model that names the fleet.
struct Applicant {
  api::Key key;
  bool serves = false;  // It has a version there, or is on its way to one.
};

struct Refusal {
  std::string reason;
  std::string message;
};

// nullopt when it may come or stay. A Model that serves already is above no quota; of those that do not, the first in
// the order of keys come first. `others`: the fleet's other Models that are not refused.
std::optional<Refusal> RefusalOf(const api::ServingFleet& fleet, const Applicant& model,
                                 const std::vector<Applicant>& others);

}  // namespace longshore::reconcile
