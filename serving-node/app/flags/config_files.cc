#include "serving-node/app/flags/config_files.h"

#include "common/text_proto/text_proto.h"
#include "tensorflow_serving/config.pb.h"

namespace longshore::app::flags {
namespace {

constexpr const char* kMetricsPath = "/monitoring/prometheus/metrics";

Status Read(const char* flag, const Path& file, google::protobuf::Message* message) {
  const Status read = ReadTextProto(file, message);
  if (read) return {};
  return Fail(read.error().code, "--{}: {}", flag, read.error().message);
}

Status ReadMonitoring(Flags* flags) {
  tensorflow::serving::MonitoringConfig config;
  RETURN_IF_ERROR(Read("monitoring_config_file", flags->observe.monitoring_config_file, &config));
  if (!config.prometheus_config().enable()) return {};
  const std::string& path = config.prometheus_config().path();
  if (!path.empty() && !path.starts_with('/')) {
    return InvalidArgument("--monitoring_config_file: {}: the path \"{}\" does not begin with a slash",
                           flags->observe.monitoring_config_file.string(), path);
  }
  flags->observe.metrics_path = path.empty() ? kMetricsPath : path;
  return {};
}

Status ReadSession(Flags* flags) {
  tensorflow::serving::SessionConfig config;
  RETURN_IF_ERROR(Read("tensorflow_session_config_file", flags->tensorflow_session_config_file, &config));
  if (config.intra_op_parallelism_threads() < 0 || config.inter_op_parallelism_threads() < 0) {
    return InvalidArgument("--tensorflow_session_config_file: {}: the number of threads is negative",
                           flags->tensorflow_session_config_file.string());
  }
  if (flags->threads == 0) flags->threads = config.intra_op_parallelism_threads();
  if (flags->max_concurrent_runs == 0) flags->max_concurrent_runs = config.inter_op_parallelism_threads();
  return {};
}

}  // namespace

Status ReadConfigFiles(Flags* flags) {
  if (!flags->observe.monitoring_config_file.empty()) RETURN_IF_ERROR(ReadMonitoring(flags));
  if (!flags->tensorflow_session_config_file.empty()) RETURN_IF_ERROR(ReadSession(flags));
  ASSIGN_OR_RETURN(const int batches, flags->batching.Read());
  if (flags->max_concurrent_runs == 0) flags->max_concurrent_runs = batches;
  return {};
}

}  // namespace longshore::app::flags
