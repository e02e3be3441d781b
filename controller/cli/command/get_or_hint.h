#pragma once

#include "common/base/error.h"
#include "controller/api/types.h"
#include "controller/store/store.h"

namespace longshore::cli::command {

// Returns the object, or NotFound, which lists the existing objects of its kind.
Result<store::Object> GetOrHint(store::Store& store, const api::Key& key);

}  // namespace longshore::cli::command
