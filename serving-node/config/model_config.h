// Reads TensorFlow Serving's model configuration. It is checked as a whole before any of it takes effect.
#pragma once

#include <vector>

#include "common/base/error.h"
#include "serving-node/models/discovery.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::config {

// Converts the configuration to model sources. A model without a version policy serves its highest version. Returns
// InvalidArgument, which names the model, for a name that is missing or given twice; a platform other than
// "tensorflow"; a base path that is missing, not absolute or a URL; a version policy that names no version; and a label
// without a name or with a negative version. Returns Unimplemented for a custom configuration.
Result<std::vector<models::ModelSource>> ToSources(const tensorflow::serving::ModelServerConfig& config);

}  // namespace longshore::config
