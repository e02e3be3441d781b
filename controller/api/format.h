// Writes specs, statuses and whole objects as JSON, for stores and programs, and as YAML, for users.
//
// Parsing the result with parse.h gives the same value. Defaults are written too, so that a later release with other
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
// Returns the command as an item of ModelStatus::commands.
Json ToJson(const Command& command);
Json ToJson(const ServingFleetSpec& spec);
Json ToJson(const ServingFleetStatus& status);
// Returns the spec of either kind as JSON.
Json SpecToJson(const ParsedObject& object);

// Returns {apiVersion, kind, metadata, spec, status}; without status if it is null.
Json Document(const std::string& kind, const Metadata& metadata, const Json& spec, const Json& status);

// Returns YAML in block style, with keys in their order and quotes around strings that YAML would read as something
// else.
std::string ToYaml(const Json& document);

}  // namespace longshore::api
