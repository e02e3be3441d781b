// Decides whether a fleet accepts a Model, from the fleet's allowed namespaces and quotas. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/api/types.h"

namespace longshore::reconcile {

// A Model whose spec names the fleet.
struct Applicant {
  api::Key key;
  bool serves = false;  // Whether it has a stable version, or its first rollout is under way.
};

struct Refusal {
  std::string reason;
  std::string message;
};

// Returns nullopt if the fleet accepts `model`. A Model that serves is always within the quota. Models that do not
// serve get the remaining places in the order of their keys. `others`: the other Models of the fleet that are not
// refused.
std::optional<Refusal> RefusalOf(const api::ServingFleet& fleet, const Applicant& model,
                                 const std::vector<Applicant>& others);

}  // namespace longshore::reconcile
