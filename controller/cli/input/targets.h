// The objects that a command line names, with kubectl's forms:
//
//   models                     all models
//   models,fleets  all         all models and fleets; "longshore", the category of the custom resources, is the same
//   model digits words         two models
//   model/digits fleet/main    objects of different kinds
//
// A kind is written as "model", "models" or "lsm", or as "fleet", "fleets", "servingfleet", "servingfleets" or "lsf",
// in any case, and may end with the API group: "models.longshore.dev", "models.v1alpha1.longshore.dev".
#pragma once

#include <string>
#include <vector>

#include "common/base/error.h"

namespace longshore::cli::input {

// One object, or all objects of a kind if `name` is "".
struct Target {
  std::string kind;  // kModelKind or kServingFleetKind.
  std::string name;

  friend bool operator==(const Target&, const Target&) = default;
};

// Returns the targets in the order of the words; none without words. Returns InvalidArgument, which lists the known
// kinds, if a kind is unknown, or if the two forms are mixed.
Result<std::vector<Target>> ParseTargets(const std::vector<std::string>& words);

// The kind as a name of kubectl's -o name begins: "model.longshore.dev", "servingfleet.longshore.dev".
std::string ResourceOf(const std::string& kind);

// All names of kinds that ParseTargets accepts, without their group: first those that this program prints.
std::vector<std::string> KindNames();

}  // namespace longshore::cli::input
