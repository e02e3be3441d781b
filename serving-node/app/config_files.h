// The text-proto files that flags name, beside the model config file: read once, before anything listens.
#pragma once

#include "common/error.h"
#include "serving-node/app/flags.h"

namespace longshore::app {

// Writes what the files say into the flags that mean the same: --monitoring_config_file into metrics_path,
// --tensorflow_session_config_file into threads and max_concurrent_runs, --batching_parameters_file into
// batching.options and max_concurrent_runs, where these are not given.
// InvalidArgument naming the flag, the file and the line; for a session also when it asks for something else.
Status ReadConfigFiles(Flags* flags);

}  // namespace longshore::app
