#include "serving-node/app/observe_flags.h"

#include <CLI/CLI.hpp>

#include "serving-node/requestlog/policies.h"

namespace longshore::app {

void ObserveFlags::AddTo(CLI::App& app) {
  const std::string group = "Seeing what it does";
  app.add_option("--log_level", log_level, "debug, info, warning or error; POST /debug/log_level changes it [info]")
      ->group(group);
  app.add_option("--monitoring_config_file", monitoring_config_file,
                 "text-proto MonitoringConfig: metrics on the REST port too")
      ->group(group);
  app.add_option("--request_log", request_log.prefix,
                 "write a sample of requests and answers to PREFIX-NODE-000001.tfrecord and so on: warm-up files and "
                 "golden sets. With --model_config_file each model's logging_config says so instead")
      ->group(group);
  app.add_option("--request_log_sampling_rate", request_log.sampling_rate, "the share of requests, 0 to 1 [1]")
      ->group(group);
  app.add_option("--request_log_file_records_max", request_log_files.file_records_max,
                 "then the next file begins; a warm-up file has at most 1000 [1000]")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--request_log_file_bytes_max", request_log_files.file_bytes_max, "as well [67108864]")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--request_log_files_max", request_log_files.files_max,
                 "per prefix and node; the oldest goes first [10]")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option(
         "--capture_dir", capture.dir,
         "keep requests here that end with INTERNAL, UNKNOWN or DATA_LOSS, or with NaN or Inf, to be run again: "
         "longshore-node replay BUNDLE. Every answer is looked at then")
      ->group(group);
  app.add_option("--capture_files_max", capture.files_max, "bundles in that directory; more are left out [100]")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--capture_bytes_max", capture.bytes_max, "of all of them [268435456]")
      ->check(CLI::PositiveNumber)
      ->group(group);
}

Status ObserveFlags::Check(bool one_model) const {
  if (request_log.prefix.empty()) return {};
  if (!one_model) {
    return InvalidArgument("--request_log is for one model that flags name: others say so in their logging_config");
  }
  const Status checked = requestlog::Check(request_log);
  return checked ? Status() : Prefixed(checked.error(), "--request_log");
}

}  // namespace longshore::app
