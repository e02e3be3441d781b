// Selects the objects that a command works on.
#pragma once

#include "common/base/error.h"
#include "controller/api/types.h"
#include "controller/cli/options.h"
#include "controller/store/document.h"
#include "controller/store/store.h"

namespace longshore::cli {

// Returns the object, or NotFound, which lists the existing objects of its kind.
Result<store::Object> GetOrHint(store::Store& store, const api::Key& key);

// Returns the object that the options name, or all objects of the kind in their namespace or in all namespaces.
Result<store::Listing> Select(const Options& options, const std::string& kind, store::Store& store);

// Returns DataLoss, which lists all objects that cannot be read, if there are any. Call it after showing the readable
// objects.
Status CheckReadable(const store::Listing& listing);

}  // namespace longshore::cli
