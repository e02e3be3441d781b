// The flags of longshore-node: TensorFlow Serving's own, and those of a node that a controller manages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/file.h"
#include "serving-node/app/auth_flags.h"
#include "serving-node/app/batching_flags.h"
#include "serving-node/app/door_flags.h"
#include "serving-node/app/limit_flags.h"
#include "serving-node/app/loading_flags.h"
#include "serving-node/app/observe_flags.h"
#include "serving-node/app/source_flags.h"
#include "serving-node/app/tls_flags.h"
#include "serving-node/app/warm_up_flags.h"

namespace longshore::app {

// Not served on.
inline constexpr int kPortOff = -1;

struct Flags {
  // TensorFlow Serving's.
  int port = 8500;  // kPortOff: no gRPC; 0: any free one.
  int rest_api_port = kPortOff;
  int rest_api_num_threads = 0;  // 0: one per processor.
  int64_t rest_api_timeout_in_ms = 30000;
  bool rest_api_enable_cors_support = false;
  std::string model_name = "default";
  Path model_base_path;
  Path model_config_file;                          // Wins over the two above.
  double model_config_file_poll_wait_seconds = 0;  // 0: read once.
  bool allow_version_labels_for_unavailable_models = false;
  bool enable_signature_method_name_check = false;
  bool enable_serialization_as_tensor_content = false;
  std::vector<std::string> saved_model_tags = {"serve"};
  int tensorflow_session_parallelism = 0;   // Stands for both of the next where they are 0.
  int tensorflow_intra_op_parallelism = 0;  // Threads of the engine, see ParallelismOf.
  int tensorflow_inter_op_parallelism = 0;  // Runs at once.
  Path tensorflow_session_config_file;
  std::vector<std::string> grpc_channel_arguments;  // "name=value".
  BatchingFlags batching;
  LoadingFlags loading;
  TlsFlags tls;
  AuthFlags auth;
  DoorFlags doors;
  ObserveFlags observe;
  WarmUpFlags warm_up;
  // Ours.
  std::string host = "0.0.0.0";
  std::string admin_host = "127.0.0.1";
  int admin_port = 8502;  // 0: any free one.
  Path port_file;
  int max_concurrent_runs = 0;  // 0: one per processor.
  int threads = 0;              // Of the engine; 0: one per processor.
  int64_t simulated_run_ms = 0;
  int64_t connection_age_max_ms = 10000;
  LimitFlags limits;
  std::string node;  // Default: the name of the host.
  // Of a managed node.
  std::string controller;
  Path controller_ca_file;
  Path controller_token_file;
  std::string fleet;
  Path state_dir;
  SourceFlags sources;
  int grpc_listen_fd = -1;
  int rest_listen_fd = -1;
  std::string peer_address;
  std::vector<std::string> peers;  // gRPC targets, for a state when there is none and no controller.

  bool managed() const { return !controller.empty(); }
};

struct ParsedFlags {
  Flags flags;
  // When set, print it and end: help or the version.
  std::string print;
};

// The environment as the official image of TensorFlow Serving reads it: MODEL_NAME and MODEL_BASE_PATH, "" when not
// set.
struct Environment {
  std::string model_name;
  std::string model_base_path;
};

// InvalidArgument that names the flag and what is wrong with it; Unimplemented for one of TensorFlow Serving's that
// asks for what is not here. Flags win over the environment: --model_name=$MODEL_NAME and
// --model_base_path=$MODEL_BASE_PATH/$MODEL_NAME, where it is set.
Result<ParsedFlags> ParseFlags(const std::vector<std::string>& arguments, const Environment& environment = {});

// "0.1.0".
std::string SoftwareVersion();

// How the engine uses its threads.
struct Parallelism {
  int runs = 1;             // At once.
  int threads_per_run = 1;  // runs * threads_per_run is never more than the threads.

  bool operator==(const Parallelism&) const = default;
};
Parallelism ParallelismOf(const Flags& flags, int processors);

}  // namespace longshore::app
