#include "serving-node/app/flags/observe_flags.h"

#include <CLI/CLI.hpp>

#include "serving-node/observe/requestlog/policies.h"

namespace longshore::app::flags {

void ObserveFlags::AddTo(CLI::App& app) {
  const std::string group = "Observability";
  app.add_option("--log_level", log_level, "debug, info, warning or error; POST /debug/log_level changes it [info]")
      ->group(group);
  app.add_option("--log_file", log_file.path,
                 "write the log and all other output to this file instead of standard error; a full file becomes "
                 "FILE.1 and replaces the one before")
      ->group(group);
  app.add_option("--log_file_bytes_max", log_file.bytes_max, "bytes of --log_file, and of FILE.1 [8388608]")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_flag(
         "--enable_profiler{true}", enable_profiler,
         "ProfilerService on the gRPC port, by which clients such as TensorBoard record what the runs of the next "
         "seconds do [true]")
      ->group("TensorFlow Serving's flags");
  app.add_option("--monitoring_config_file", monitoring_config_file,
                 "text-proto MonitoringConfig: serve metrics on the REST port too")
      ->group(group);
  app.add_option(
         "--request_log", request_log.prefix,
         "write a sample of requests and answers to PREFIX-NODE-000001.tfrecord and so on, which can be used as "
         "warm-up files and golden sets. With --model_config_file use each model's logging_config instead")
      ->group(group);
  app.add_option("--request_log_sampling_rate", request_log.sampling_rate,
                 "share of the requests that are logged, from 0 to 1 [1]")
      ->group(group);
  app.add_option("--request_log_file_records_max", request_log_files.file_records_max,
                 "records per file; a warm-up file may have at most 1000 [1000]")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--request_log_file_bytes_max", request_log_files.file_bytes_max, "bytes per file [67108864]")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--request_log_files_max", request_log_files.files_max,
                 "largest number of files per prefix and node; the oldest is removed first [10]")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option(
         "--capture_dir", capture.dir,
         "directory for bundles: each holds a request that ended with INTERNAL, UNKNOWN or DATA_LOSS or with NaN or "
         "Inf in the answer; all answers are then checked for NaN and Inf. To replay one: longshore-node replay BUNDLE")
      ->group(group);
  app.add_option("--capture_files_max", capture.files_max,
                 "largest number of bundles in --capture_dir; further ones are not written [100]")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--capture_bytes_max", capture.bytes_max, "largest size of all bundles together, in bytes [268435456]")
      ->check(CLI::PositiveNumber)
      ->group(group);
}

Status ObserveFlags::Check(bool one_model) const {
  if (request_log.prefix.empty()) return {};
  if (!one_model) {
    return InvalidArgument(
        "--request_log works only with --model_base_path: use the logging_config of each model instead");
  }
  const Status checked = requestlog::Check(request_log);
  return checked ? Status() : Prefixed(checked.error(), "--request_log");
}

}  // namespace longshore::app::flags
