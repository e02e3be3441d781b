// Selects the objects that a command works on.
#pragma once

#include "common/base/error.h"
#include "controller/api/types.h"
#include "controller/cli/options.h"
#include "controller/store/document.h"
#include "controller/store/store.h"

namespace longshore::cli {

// Returns the object. NotFound lists the objects of its kind that exist.
Result<store::Object> GetOrHint(store::Store& store, const api::Key& key);

// Returns the object that the options name, or all objects of the kind in their namespace or in all namespaces.
Result<store::Listing> Select(const Options& options, const std::string& kind, store::Store& store);

// DataLoss listing all objects that cannot be read. Call it after showing the readable ones.
Status CheckReadable(const store::Listing& listing);

}  // namespace longshore::cli
