// Which requests are logged, as the logging_config of each model says.
#pragma once

#include "common/error.h"
#include "serving-node/requestlog/request_log.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::requestlog {

// Of the models that have one. InvalidArgument naming the model for a rate that is no share, a collector whose type is
// not "file", or one without an absolute filename_prefix; Unimplemented for a custom_logging_config.
Result<Policies> PoliciesOf(const tensorflow::serving::ModelServerConfig& config);

// InvalidArgument for a rate outside of 0 to 1, or a prefix that is not absolute or names a folder.
Status Check(const Policy& policy);

}  // namespace longshore::requestlog
