// The parsers of the specs of Model and ServingFleet, shared by manifests and stored objects.
#pragma once

#include <string>

#include "common/json/json.h"
#include "controller/api/fields.h"
#include "controller/api/types.h"

namespace longshore::api {

// Errors are reported to the reader of `spec`. `name` is the default of servedName.
ModelSpec ReadModelSpec(Fields& spec, const std::string& name);
ServingFleetSpec ReadServingFleetSpec(Fields& spec);

// Reads and writes the part of a fleet's spec that is about pods. PutPods does not write defaults, so that the output
// in standalone mode is a valid manifest for that mode.
Pods ReadPods(Fields& spec);
void PutPods(const Pods& pods, Json& spec);

// Reads and writes rollout.routes, the match rules. PutRoutes writes nothing if there are none, because release 0.1
// does not know the field.
void ReadRoutes(Fields& rollout, std::vector<Route>& out);
void PutRoutes(const std::vector<Route>& routes, Json& rollout);

}  // namespace longshore::api
