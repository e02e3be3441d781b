// Which objects a command is about, as values.
#pragma once

#include "common/error.h"
#include "controller/api/types.h"
#include "controller/cli/options.h"
#include "controller/store/document.h"
#include "controller/store/store.h"

namespace longshore::cli {

// The object, or NotFound naming what there is of its kind.
Result<store::Object> GetOrHint(store::Store& store, const api::Key& key);

// The one that the options name, or all of the kind, of their namespace or of every one.
Result<store::Listing> Select(const Options& options, const std::string& kind, store::Store& store);

// DataLoss naming all that cannot be read; to be said after what could be read was shown.
Status CheckReadable(const store::Listing& listing);

}  // namespace longshore::cli
