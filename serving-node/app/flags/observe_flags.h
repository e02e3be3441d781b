// The flags of observability: log, metrics, request log and captured requests.
#pragma once

#include <string>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/os/log_file.h"
#include "serving-node/observe/replay/capture.h"
#include "serving-node/observe/requestlog/request_log.h"

namespace CLI {
class App;
}

namespace longshore::app::flags {

struct ObserveFlags {
  std::string log_level = "info";
  LogFile::Options log_file;  // An empty path: standard error.
  Path monitoring_config_file;
  std::string metrics_path;  // The path of metrics on the REST port, set from that file; "": no metrics there.
  // The request log of the one model that --model_name and --model_base_path name.
  requestlog::Policy request_log{.prefix = {}, .sampling_rate = 1};
  requestlog::RecordFileLimits request_log_files;
  bool enable_profiler = true;     // ProfilerService on the gRPC port.
  replay::CaptureOptions capture;  // An empty directory: no requests are captured.

  void AddTo(CLI::App& app);
  // Returns InvalidArgument if the options of the request log are not valid. `one_model`: the flags name a single
  // model. If they do not, --request_log is an error, because several models would share the log.
  Status Check(bool one_model) const;
};

}  // namespace longshore::app::flags
