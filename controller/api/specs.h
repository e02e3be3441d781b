// The parsers of the two specs, shared by manifests and stored objects.
#pragma once

#include <string>

#include "controller/api/fields.h"
#include "controller/api/types.h"

namespace longshore::api {

// Mistakes are in the reader of `spec`. `name` is the default of servedName.
ModelSpec ReadModelSpec(Fields& spec, const std::string& name);
ServingFleetSpec ReadServingFleetSpec(Fields& spec);

}  // namespace longshore::api
