// Writes values as JSON, for stores and programs, and as YAML, for users.
//
// Reading the result gives the same value (parse.h). Defaults are written out, so that a later release with other
// defaults does not change applied objects.
#pragma once

#include <string>

#include "common/json/json.h"
#include "controller/api/parse.h"
#include "controller/api/types.h"
#include "controller/api/units.h"

namespace longshore::api {

Json ToJson(const ModelSpec& spec);
Json ToJson(const ModelStatus& status);
Json ToJson(const ServingFleetSpec& spec);
Json ToJson(const ServingFleetStatus& status);
// The spec of either kind.
Json SpecToJson(const ParsedObject& object);

// {apiVersion, kind, metadata, spec, status}; without status if it is null.
Json Document(const std::string& kind, const Metadata& metadata, const Json& spec, const Json& status);

// Block style, keys in their order, strings quoted where YAML would read them as something else.
std::string ToYaml(const Json& document);

}  // namespace longshore::api
