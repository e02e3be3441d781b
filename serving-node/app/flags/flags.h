// The flags of longshore-node: those of TensorFlow Serving, those of every Longshore node, and those of a node that a
// controller manages.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "serving-node/app/flags/auth_flags.h"
#include "serving-node/app/flags/batching_flags.h"
#include "serving-node/app/flags/limit_flags.h"
#include "serving-node/app/flags/listener_flags.h"
#include "serving-node/app/flags/loading_flags.h"
#include "serving-node/app/flags/observe_flags.h"
#include "serving-node/app/flags/source_flags.h"
#include "serving-node/app/flags/tls_flags.h"
#include "serving-node/app/flags/trace_flags.h"
#include "serving-node/app/flags/warm_up_flags.h"

namespace CLI {
class App;
}

namespace longshore::app::flags {

// The value of a port that the node does not open.
inline constexpr int kPortOff = -1;
inline constexpr int kAdminPort = 8502;

struct Flags {
  // Flags of TensorFlow Serving.
  int port = 8500;  // For gRPC. kPortOff: no gRPC; 0: any free port.
  int rest_api_port = kPortOff;
  int rest_api_num_threads = 0;  // 0: one per processor.
  int64_t rest_api_timeout_in_ms = 30000;
  bool rest_api_enable_cors_support = false;
  std::string model_name = "default";
  Path model_base_path;
  Path model_config_file;                          // If set, model_name and model_base_path are ignored.
  double model_config_file_poll_wait_seconds = 0;  // 0: read once.
  bool allow_version_labels_for_unavailable_models = false;
  bool enable_signature_method_name_check = false;
  bool enable_serialization_as_tensor_content = false;
  std::vector<std::string> saved_model_tags = {"serve"};
  int tensorflow_session_parallelism = 0;   // The default of the next two flags.
  int tensorflow_intra_op_parallelism = 0;  // The same as `threads`.
  int tensorflow_inter_op_parallelism = 0;  // The same as `max_concurrent_runs`.
  Path tensorflow_session_config_file;
  std::vector<std::string> grpc_channel_arguments;  // "name=value".
  BatchingFlags batching;
  LoadingFlags loading;
  TlsFlags tls;
  AuthFlags auth;
  ListenerFlags listeners;
  ObserveFlags observe;
  TraceFlags traces;
  WarmUpFlags warm_up;
  // Flags of Longshore, for every node.
  std::string host = "::";
  std::string admin_host = "127.0.0.1";
  std::optional<int> admin_port;  // 0: any free port. Unset: kAdminPort, or any free port if that one is in use.
  Path port_file;
  int max_concurrent_runs = 0;  // 0: one per processor.
  int threads = 0;              // Threads of the engine; 0: one per processor.
  int64_t simulated_run_ms = 0;
  int64_t connection_age_max_ms = 10000;
  LimitFlags limits;
  std::string node;          // The name of this node. Default: the name of the host.
  int64_t drain_max_ms = 0;  // Not a flag: common/node_contract/drain.h. 0: a drain takes as long as it needs.
  // Flags of Longshore, for a managed node.
  std::string controller;
  Path controller_ca_file;
  Path controller_token_file;
  std::string fleet;
  Path state_dir;
  SourceFlags sources;
  int grpc_listen_fd = -1;
  int rest_listen_fd = -1;
  std::string peer_address;
  std::vector<std::string> peers;  // gRPC targets that supply a state if the node has none and no controller answers.

  bool managed() const { return !controller.empty(); }
  // Adds all flags except those that only RefusedFlags knows.
  void AddTo(CLI::App& app);
};

struct ParsedFlags {
  Flags flags;
  // If not empty, the program prints this text (help or version) and exits.
  std::string print;
  std::vector<std::string> notes{};  // What the log should say about flags without an effect.
};

// Environment variables; "" if unset. MODEL_NAME and MODEL_BASE_PATH are those of the official TensorFlow Serving
// image, the other two texts are those of TensorFlow's log.
struct Environment {
  std::string model_name;
  std::string model_base_path;
  std::string tf_cpp_min_log_level = {};
  std::string tf_cpp_max_vlog_level = {};
  std::string drain_max_ms = {};                 // common/node_contract/drain.h.
  std::map<std::string, std::string> otel = {};  // Those of TraceFlags::Variables that are set.
};

// Parses and checks the flags. An error names the flag and the problem. It is Unimplemented for a flag of TensorFlow
// Serving that requests an unsupported feature, and otherwise InvalidArgument. The environment supplies defaults:
// --model_name=$MODEL_NAME, --model_base_path=$MODEL_BASE_PATH/$MODEL_NAME, and a --log_level from
// $TF_CPP_MIN_LOG_LEVEL (0: info, 1: warning, 2: error, from 3 on: off) and $TF_CPP_MAX_VLOG_LEVEL (from 1 on: debug,
// if the former is 0). A managed node ignores these. The variables of OpenTelemetry and of drains count for every node.
Result<ParsedFlags> ParseFlags(const std::vector<std::string>& arguments, const Environment& environment = {});

// The version of this program, for example "0.1.0".
std::string SoftwareVersion();

// How the engine divides its threads. runs * threads_per_run is never more than the number of threads.
struct Parallelism {
  int runs = 1;  // Concurrent runs.
  int threads_per_run = 1;

  bool operator==(const Parallelism&) const = default;
};
Parallelism ParallelismOf(const Flags& flags, int processors);

}  // namespace longshore::app::flags
