// The routes of TensorFlow Serving's REST API.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::frontend {

struct RestRoute {
  enum class Kind { kPredict, kClassify, kRegress, kStatus, kMetadata };
  Kind kind = Kind::kStatus;
  tensorflow::serving::ModelSpec spec;  // The model's name, and the version or the label if any.
};

// Decodes "%41" and the like. Text that is not a valid escape is unchanged.
std::string PercentDecoded(std::string_view text);

// Returns whether the target is below /v1, and so belongs to this API.
bool IsApi(std::string_view target);

// Parses the method and the target of a request:
//
//   POST /v1/models/NAME[/versions/V|/labels/L]:predict|classify|regress
//   GET  /v1/models/NAME[/versions/V|/labels/L][/metadata]
//
// Targets are case-insensitive except for names and labels, which are percent-decoded. InvalidArgument for all other
// targets and for targets with a query string.
Result<RestRoute> ParseRoute(std::string_view method, std::string_view target);

}  // namespace longshore::frontend
