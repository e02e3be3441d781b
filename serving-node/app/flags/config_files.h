// The text-proto files that flags name, except the model config file. They are read once, before any port is opened.
#pragma once

#include "common/base/error.h"
#include "serving-node/app/flags/flags.h"

namespace longshore::app::flags {

// Copies the values of the files into the flags with the same meaning: --monitoring_config_file into metrics_path,
// --tensorflow_session_config_file into threads and max_concurrent_runs, --batching_parameters_file into
// batching.options and max_concurrent_runs. Flags that the user set are not changed. An error is InvalidArgument and
// names the flag, the file and the line. A session option other than these is an error, too.
Status ReadConfigFiles(Flags* flags);

}  // namespace longshore::app::flags
