// Writes values as JSON, for stores and programs, and as YAML, for users.
//
// Reading the result gives the same value (parse.h). Defaults are written out, so that a later release with other
// defaults does not change applied objects.
#pragma once

#include <string>

#include "common/json/json.h"
#include "controller/api/parse.h"
#include "controller/api/types.h"

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

// The shortest exact form: "30s", "1500ms", "0s".
std::string FormatDuration(Duration duration);
// RFC 3339 in UTC with milliseconds: "2026-11-21T05:23:49.120Z"; "" for TimePoint{}.
std::string FormatTime(TimePoint at);
// "0.1%" from 0.001, with at most four digits after the point.
std::string FormatShare(double share);

}  // namespace longshore::api
