// TensorFlow Serving's model configuration, checked as a whole before any of it takes effect.
#pragma once

#include <vector>

#include "common/error.h"
#include "serving-node/models/discovery.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::config {

// What to serve. A model without a version policy is served at its newest version.
// InvalidArgument naming the model for a name that is missing or given twice, a platform other than "tensorflow", a
// base path that is missing, not absolute or a URL, a version policy that names no version, a label without a name or
// with a negative version. Unimplemented for a custom configuration.
Result<std::vector<models::Source>> ToSources(const tensorflow::serving::ModelServerConfig& config);

}  // namespace longshore::config
