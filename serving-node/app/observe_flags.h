// The flags of what is seen of a node from outside: its log, its metrics, and the requests that it keeps.
#pragma once

#include <string>

#include "common/error.h"
#include "common/file.h"
#include "serving-node/replay/capture.h"
#include "serving-node/requestlog/request_log.h"

namespace CLI {
class App;
}

namespace longshore::app {

struct ObserveFlags {
  std::string log_level = "info";
  Path monitoring_config_file;
  std::string metrics_path;  // On the REST port, as that file says; "": none.
  // Of the one model that flags name.
  requestlog::Policy request_log{.prefix = {}, .sampling_rate = 1};
  requestlog::RecordFileLimits request_log_files;
  replay::CaptureOptions capture;  // Without a directory nothing is captured.

  void AddTo(CLI::App& app);
  // InvalidArgument for a log of requests that is none, or that several models would share.
  Status Check(bool one_model) const;
};

}  // namespace longshore::app
