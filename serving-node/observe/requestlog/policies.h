// The request log policies that the logging_config of each model defines.
#pragma once

#include "common/base/error.h"
#include "serving-node/observe/requestlog/request_log.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::requestlog {

// Returns the policies of the models that have a logging_config. InvalidArgument, which names the model, for a sampling
// rate outside of 0 to 1, a collector of a type other than "file", or a filename_prefix that is not absolute;
// Unimplemented for a custom_logging_config.
Result<Policies> PoliciesOf(const tensorflow::serving::ModelServerConfig& config);

// Returns InvalidArgument for a sampling rate outside of 0 to 1, or a prefix that is not absolute or ends with a slash.
Status Check(const Policy& policy);

}  // namespace longshore::requestlog
