// The fleets and models of a namespace.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "controller/cli/doctor/finding.h"
#include "controller/store/store.h"

namespace longshore::cli::doctor::observe {

struct Stored {
  std::vector<api::ServingFleet> fleets;
  std::vector<api::Model> models;
  // All fleets of the store as text::HostSeen has them; nullopt if they could not be listed.
  std::optional<std::map<api::Key, api::ObservedFleet>> to_observe;
  Findings problems;  // Objects, or kinds, that could not be read.
};

Stored ReadStored(store::Store& store, const std::string& namespace_);

}  // namespace longshore::cli::doctor::observe
