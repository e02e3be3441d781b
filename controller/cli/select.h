// Selects the objects that a command works on.
#pragma once

#include "common/base/error.h"
#include "controller/api/types.h"
#include "controller/cli/input/ports.h"
#include "controller/cli/input/served_names.h"
#include "controller/cli/options.h"
#include "controller/store/document.h"
#include "controller/store/store.h"

namespace longshore::cli {

// Return the fleets, or the Models, of all namespaces, without those that cannot be read.
input::Fleets StoredFleets(store::Store& store);
input::Models StoredModels(store::Store& store);

// Returns the object that the options name, or all objects of the kind in their namespace or in all namespaces that
// their selector matches.
Result<store::Listing> Select(const Options& options, const std::string& kind, store::Store& store);

struct Selected {
  store::Listing listing;      // Each object once, in the order of the targets.
  std::vector<Error> missing;  // For each named object that does not exist.
};
// Returns the objects of the options' targets; of all models and fleets if there are none.
Result<Selected> SelectTargets(const Options& options, store::Store& store);

// Returns the kinds that the targets name, in their order. Without targets, returns both kinds.
std::vector<std::string> KindsOf(const std::vector<input::Target>& targets);

// Returns NotFound, which lists all of them, if any are missing.
Status CheckFound(const std::vector<Error>& missing);

// Returns DataLoss, which lists all objects that cannot be read, if there are any. Call it after showing the readable
// objects.
Status CheckReadable(const store::Listing& listing);

}  // namespace longshore::cli
