// Parses manifests of users (YAML) and objects of a store (JSON) to values, with defaults and validation.
//
// Each error message names the place and what is allowed there:
//   models/digits.yaml:14: spec.rollout.steps[1].weight: 120 is not between 0 and 100
// An unknown field is an error that suggests the nearest known name; a field that is planned but not supported yet is
// refused with an explanation. No field is ignored.
//
//   durations  "30s" "500ms" "5m" "1h" "250us"; a number without a unit is refused
//   shares     "0.1%" or 0.001
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/error.h"
#include "common/json/json.h"
#include "controller/api/home.h"
#include "controller/api/types.h"
#include "controller/api/units.h"

namespace longshore::api {

// One document of a manifest.
struct ParsedObject {
  std::string kind;   // kModelKind or kServingFleetKind: the type of `spec`.
  Metadata metadata;  // Name, namespace, labels and annotations as written.
  std::variant<ModelSpec, ServingFleetSpec> spec;
  std::string file{};  // As messages name it.
  int line = 0;        // Line at which the document starts.
};
Key KeyOf(const ParsedObject& object);

inline constexpr size_t kManifestBytesMax = 4 << 20;
inline constexpr size_t kManifestDocumentsMax = 10000;

// Parses all documents of a file and skips empty ones. Returns InvalidArgument with a line for each unknown field and
// wrong value of all documents, or ResourceExhausted if a limit is exceeded. Two documents of the same kind, namespace
// and name are an error. `file` is only used in messages. `namespace_` is the namespace of documents that name none.
Result<std::vector<ParsedObject>> ParseManifests(std::string_view file, std::string_view text, Home home = Home::kHost,
                                                 const std::string& namespace_ = "default");

// Parses a spec from a store (see ToJson in format.h), with the same rules as for manifests. Messages name the field.
// `name` is the name of the object, which is the default of servedName.
Result<ModelSpec> ModelSpecFromJson(const Json& spec, const std::string& name, Home home = Home::kAny);
Result<ServingFleetSpec> ServingFleetSpecFromJson(const Json& spec, Home home = Home::kAny);

// Parses a status that a controller wrote. Unlike in a spec, unknown fields are skipped, so that an older controller
// can read the status of a newer one; a missing field has its default, and a null status is empty.
Result<ModelStatus> ModelStatusFromJson(const Json& status);
Result<ServingFleetStatus> ServingFleetStatusFromJson(const Json& status);

}  // namespace longshore::api
