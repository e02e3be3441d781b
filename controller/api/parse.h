// From what people write (YAML manifests) and what a store keeps (JSON) to values, with defaults and validation.
//
// Every message names the place and what is allowed there:
//   models/digits.yaml:14: spec.rollout.steps[1].weight: 120 is not between 0 and 100
// A field that is not known is an error with the nearest known name; a field of the design that is not served yet is
// refused with a sentence. Nothing is ever ignored.
//
//   durations  "30s" "500ms" "5m" "1h" "250us"; a bare number is refused, because its unit would be a guess
//   shares     "0.1%" or 0.001
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/error.h"
#include "common/json/json.h"
#include "controller/api/types.h"

namespace longshore::api {

// Where a manifest is meant for; a field that would have no effect there is refused with the reason. kAny takes what
// either takes: for what a store has taken already.
enum class Home { kAny, kHost, kCluster };

// One document of a manifest.
struct ParsedObject {
  std::string kind;   // kModelKind or kServingFleetKind: what spec holds.
  Metadata metadata;  // Name, namespace, labels and annotations as written.
  std::variant<ModelSpec, ServingFleetSpec> spec;
  int line = 0;  // Where the document begins.
};
Key KeyOf(const ParsedObject& object);

inline constexpr size_t kManifestBytesMax = 4 << 20;
inline constexpr size_t kManifestDocumentsMax = 10000;

// All documents of a file; empty ones are skipped. The first mistake ends it: InvalidArgument, or ResourceExhausted
// above the limits. `file` is only used in messages. Two documents of one kind, namespace and name are a mistake.
// `namespace_`: of a document that names none.
Result<std::vector<ParsedObject>> ParseManifests(std::string_view file, std::string_view text, Home home = Home::kHost,
                                                 const std::string& namespace_ = "default");

// The spec as a store keeps it (see ToJson in format.h). Same rules as for manifests; messages name the field.
// `name` is the object's, the default of servedName.
Result<ModelSpec> ModelSpecFromJson(const Json& spec, const std::string& name, Home home = Home::kAny);
Result<ServingFleetSpec> ServingFleetSpecFromJson(const Json& spec, Home home = Home::kAny);

// The status as the controller wrote it. Unlike in a spec, unknown fields are skipped, so that an older controller can
// read what a newer one wrote; a missing field has its default; a null status is an empty one.
Result<ModelStatus> ModelStatusFromJson(const Json& status);
Result<ServingFleetStatus> ServingFleetStatusFromJson(const Json& status);

// "1m30s" is refused, "90s" is not: one number and one unit of us, ms, s, m, h.
Result<Duration> ParseDuration(std::string_view text);

}  // namespace longshore::api
