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

// Reads the field `proof` of a step or of the phase Shadow.
void ReadProof(Fields& fields, std::optional<Proof>& out);
// Why a proof cannot be required.
inline constexpr const char* kProofImpossible =
    "Required is impossible with a tolerance of 0 or with rows: 1, because no evidence can show that two versions are "
    "exactly equal: set a tolerance above 0 in analysis and rows below 1, or another proof";

// Reads and writes the fields shadow and preview of a rollout, which depend on its other fields: read it last.
// PutShadow writes only fields that an object of release 0.1 cannot have.
void ReadShadow(Fields& rollout, Rollout& out);
void PutShadow(const Rollout& rollout, Json& json);

// Reads and writes the part of a fleet's spec that is about pods. PutPods does not write defaults, so that the output
// in standalone mode is a valid manifest for that mode.
Pods ReadPods(Fields& spec);
void PutPods(const Pods& pods, Json& spec);

// Reads and writes rollout.routes, the match rules. PutRoutes writes nothing if there are none, because release 0.1
// does not know the field.
void ReadRoutes(Fields& rollout, std::vector<Route>& out);
void PutRoutes(const std::vector<Route>& routes, Json& rollout);

// Returns why requests cannot be chosen by this header, whose name is in lower case, or "" if they can.
std::string WhyNotChosenBy(const std::string& header);

}  // namespace longshore::api
