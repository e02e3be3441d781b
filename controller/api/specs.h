// The parsers of the two specs, shared by manifests and stored objects.
#pragma once

#include <string>

#include "common/json/json.h"
#include "controller/api/fields.h"
#include "controller/api/types.h"

namespace longshore::api {

// Mistakes are in the reader of `spec`. `name` is the default of servedName.
ModelSpec ReadModelSpec(Fields& spec, const std::string& name);
ServingFleetSpec ReadServingFleetSpec(Fields& spec);

// The part of a fleet's spec that is about pods: from the spec, and into one. What has its default is not written, so
// that what a host has written reads as a manifest for a host.
Pods ReadPods(Fields& spec);
void PutPods(const Pods& pods, Json& spec);

}  // namespace longshore::api
