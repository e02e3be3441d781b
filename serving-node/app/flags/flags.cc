#include "serving-node/app/flags/flags.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "common/command_line/mistakes.h"
#include "common/node_contract/drain.h"
#include "serving-node/app/flags/refused_flags.h"

namespace longshore::app::flags {
namespace {

constexpr const char* kAbout =
    R"(longshore-node serves TensorFlow SavedModels over TensorFlow Serving's gRPC and REST APIs.

Standalone, with TensorFlow Serving's flags:
  longshore-node --model_base_path=/models/half_plus_two
      serves the highest version below that directory as "default", gRPC on 8500, REST on 8501:
      curl -d '{"instances": [1, 2, 5]}' http://localhost:8501/v1/models/default:predict
  longshore-node --model_name=digits --model_base_path=/models/digits --port=8500 --rest_api_port=8501 \
      --enable_batching --batching_parameters_file=/models/batching.txt

Managed, as a node of a fleet (a standalone controller starts it like this):
  longshore-node --controller=unix:/run/longshore/controller.sock --fleet=vision/cpu --node=cpu-0 \
      --state_dir=/var/lib/longshore/cpu-0 --peer_address=unix:/var/lib/longshore/cpu-0/peer.sock

Replay a captured request that failed:  longshore-node replay BUNDLE  (see --capture_dir and replay --help)

Health and metrics:  curl http://localhost:8502/readyz   (also /livez /metrics /debug/state /debug/log_level /debug/profile)
SIGTERM shuts the node down gracefully; a second signal ends it at once.
)";

std::string HostName() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "node";
  return name;
}

void AddServingFlags(CLI::App& app, Flags& flags) {
  const std::string group = "TensorFlow Serving's flags";
  app.add_option("--port", flags.port, "gRPC port; 0: none, or with --port_file any free port [8500]")->group(group);
  app.add_option("--rest_api_port", flags.rest_api_port,
                 "REST port; 0: none, or with --port_file any free port [8501 if neither port is given, else none]")
      ->group(group);
  app.add_option("--rest_api_num_threads", flags.rest_api_num_threads, "threads of the REST server [one per processor]")
      ->group(group);
  app.add_option("--rest_api_timeout_in_ms", flags.rest_api_timeout_in_ms, "time limit of a REST prediction [30000]")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_flag("--rest_api_enable_cors_support", flags.rest_api_enable_cors_support,
               "allow requests from web pages of other origins (CORS)")
      ->group(group);
  app.add_option("--model_name", flags.model_name, "the name under which clients call the model [default]")
      ->group(group);
  app.add_option("--model_base_path", flags.model_base_path,
                 "directory with the versions of the model: PATH/1/saved_model.pb")
      ->group(group);
  app.add_option("--model_config_file", flags.model_config_file,
                 "text-proto ModelServerConfig: several models, version policies, labels; replaces --model_name "
                 "and --model_base_path")
      ->group(group);
  app.add_option("--model_config_file_poll_wait_seconds", flags.model_config_file_poll_wait_seconds,
                 "time between two reads of --model_config_file; 0: read once [0]")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  app.add_flag("--allow_version_labels_for_unavailable_models", flags.allow_version_labels_for_unavailable_models,
               "a reload may assign an unused label to a version that is not available yet")
      ->group(group);
  app.add_flag("--enable_signature_method_name_check", flags.enable_signature_method_name_check,
               "a signature may be called only by the method that it names")
      ->group(group);
  app.add_flag("--enable_serialization_as_tensor_content", flags.enable_serialization_as_tensor_content,
               "send numbers in gRPC answers as tensor_content instead of typed fields: faster for large tensors")
      ->group(group);
  app.add_option("--saved_model_tags", flags.saved_model_tags, "tags of the graph to load from the SavedModel [serve]")
      ->delimiter(',')
      ->group(group);
  app.add_option("--tensorflow_session_parallelism", flags.tensorflow_session_parallelism,
                 "default of --tensorflow_intra_op_parallelism and --tensorflow_inter_op_parallelism [0: one per "
                 "processor]")
      ->check(CLI::Range(0, 4096))
      ->group(group);
  app.add_option("--tensorflow_intra_op_parallelism", flags.tensorflow_intra_op_parallelism, "the same as --threads")
      ->check(CLI::Range(0, 4096))
      ->group(group);
  app.add_option("--tensorflow_inter_op_parallelism", flags.tensorflow_inter_op_parallelism,
                 "the same as --max_concurrent_runs")
      ->check(CLI::Range(0, 4096))
      ->group(group);
  app.add_option("--tensorflow_session_config_file", flags.tensorflow_session_config_file,
                 "text-proto ConfigProto with intra_op_ and inter_op_parallelism_threads")
      ->group(group);
  app.add_option("--grpc_channel_arguments", flags.grpc_channel_arguments,
                 "settings of the gRPC server by their names in gRPC C++: name=value,name=value; the log names those "
                 "that have no effect")
      ->delimiter(',')
      ->group(group);
}

void AddNodeFlags(CLI::App& app, Flags& flags) {
  const std::string group = "The node";
  app.add_option("--host", flags.host, "address on which gRPC and REST listen [::, all addresses of IPv6 and IPv4]")
      ->group(group);
  app.add_option("--admin_host", flags.admin_host,
                 "address on which the admin port listens; it serves health, metrics and debugging [127.0.0.1]")
      ->group(group);
  app.add_option("--admin_port", flags.admin_port,
                 "the admin port; 0: any free port [8502, or any free port if it is in use]")
      ->check(CLI::Range(0, 65535))
      ->group(group);
  app.add_option("--port_file", flags.port_file,
                 R"(file to write the ports to when they are bound: {"grpc": P, "rest": P, "admin": P})")
      ->group(group);
  app.add_option("--max_concurrent_runs", flags.max_concurrent_runs,
                 "largest number of model runs at the same time [one per processor]")
      ->check(CLI::Range(0, batching::kConcurrentRunsMax))
      ->group(group);
  app.add_option("--threads", flags.threads,
                 "threads of the engine [one per processor]; each run uses an equal part of them: with "
                 "--max_concurrent_runs=1 a run uses all")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  app.add_option("--simulated_run_ms", flags.simulated_run_ms, "minimum duration of a run, to test scaling [0]")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  app.add_option(
         "--connection_age_max_ms", flags.connection_age_max_ms,
         "ask clients to reconnect when a connection reaches this age; 0: never, then a shutdown waits until the "
         "clients disconnect [10000]")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  app.add_option("--node", flags.node, "the name of this node in answers and reports [the name of the host]")
      ->group(group);
}

void AddManagedFlags(CLI::App& app, Flags& flags) {
  const std::string group = "A node of a fleet";
  app.add_option("--controller", flags.controller,
                 "address of the controller: unix:/path, host:port or dns:///host:port")
      ->group(group);
  app.add_option(
         "--controller_ca_file", flags.controller_ca_file,
         "PEM certificates of the CA that signs the certificates of the controller and of other nodes; without this "
         "flag, connections to both are in plain text")
      ->group(group);
  app.add_option("--controller_token_file", flags.controller_token_file,
                 "file with the token that this node sends to the controller")
      ->group(group);
  app.add_option("--fleet", flags.fleet, "the fleet of this node: namespace/name")->group(group);
  app.add_option("--state_dir", flags.state_dir, "directory for the state of this node only; keep it across restarts")
      ->group(group);
  app.add_option("--grpc_listen_fd", flags.grpc_listen_fd,
                 "file descriptor of an inherited listening socket, instead of --port")
      ->group(group);
  app.add_option("--rest_listen_fd", flags.rest_listen_fd,
                 "file descriptor of an inherited listening socket, instead of --rest_api_port")
      ->group(group);
  app.add_option(
         "--peer_address", flags.peer_address,
         "address on which this node listens for other nodes: unix:/path or host:port; with --controller_ca_file only "
         "nodes with a certificate of the same fleet may connect")
      ->group(group);
  app.add_option("--peers", flags.peers,
                 "other nodes that this node asks for the desired state if it has none and no controller answers: gRPC "
                 "targets, separated by commas; unix targets may contain *, for example \"unix:/dir/*/peer.sock\"")
      ->delimiter(',')
      ->group(group);
}

// Sets the threads of the engine and the concurrent runs from TensorFlow's flags if Longshore's own flags are not set.
void ResolveParallelism(Flags& flags) {
  const auto first = [](int a, int b, int c) { return a != 0 ? a : b != 0 ? b : c; };
  flags.threads = first(flags.threads, flags.tensorflow_intra_op_parallelism, flags.tensorflow_session_parallelism);
  flags.max_concurrent_runs =
      first(flags.max_concurrent_runs, flags.tensorflow_inter_op_parallelism, flags.tensorflow_session_parallelism);
}

// A port of 0 means no port; with --port_file it means any free port, which that file then names.
void ResolvePorts(const CLI::App& app, Flags& flags) {
  const bool port_given = app.count("--port") > 0;
  const bool rest_given = app.count("--rest_api_port") > 0;
  const int zero = flags.port_file.empty() ? kPortOff : 0;
  if (flags.port == 0) flags.port = zero;
  if (rest_given && flags.rest_api_port == 0) flags.rest_api_port = zero;
  if (!port_given && !rest_given && !flags.managed()) flags.rest_api_port = 8501;
}

// The flags that only a standalone node has, and what replaces them on a managed node.
constexpr std::pair<const char*, const char*> kStandaloneFlags[] = {
    {"--model_base_path", "the controller decides which models the node serves"},
    {"--model_name", "the controller decides which models the node serves"},
    {"--model_config_file", "the controller decides which models the node serves"},
    {"--model_config_file_poll_wait_seconds", "the controller decides which models the node serves"},
    {"--allow_version_labels_for_unavailable_models", "the controller decides which models the node serves"},
    {"--file_system_poll_wait_seconds", "the controller decides which versions the node loads"},
    {"--max_num_load_retries", "the controller decides when a version is loaded again"},
    {"--load_retry_interval_micros", "the controller decides when a version is loaded again"},
    {"--version_transition", "the controller decides when a version is unloaded"},
    {"--enable_batching", "each Model configures its batching"},
    {"--batching_parameters_file", "each Model configures its batching"},
    {"--enable_per_model_batching_parameters", "each Model configures its batching"},
};

Status CheckManaged(const CLI::App& app, const Flags& flags) {
  for (const auto& [name, instead] : kStandaloneFlags) {
    if (app.count(name) > 0) return InvalidArgument("{} and --controller exclude each other: {}", name, instead);
  }
  if (flags.fleet.find('/') == std::string::npos) return InvalidArgument("--controller needs --fleet=namespace/name");
  if (flags.state_dir.empty()) return InvalidArgument("--controller needs --state_dir");
  if (!flags.controller_token_file.empty() && flags.controller_ca_file.empty())
    return InvalidArgument("--controller_token_file needs --controller_ca_file: a token is not sent in plain text");
  return {};
}

Status CheckStandalone(const CLI::App& app, const Flags& flags) {
  if (flags.model_base_path.empty() && flags.model_config_file.empty()) {
    return InvalidArgument(
        "--model_base_path is missing: give the directory that holds 1/saved_model.pb, or --model_config_file. See "
        "--help");
  }
  for (const auto& [name, given] : {std::pair{"--fleet", !flags.fleet.empty()},
                                    {"--state_dir", !flags.state_dir.empty()},
                                    {"--controller_ca_file", !flags.controller_ca_file.empty()},
                                    {"--controller_token_file", !flags.controller_token_file.empty()},
                                    {"--peer_address", !flags.peer_address.empty()},
                                    {"--peers", !flags.peers.empty()}}) {
    if (given) return InvalidArgument("{} needs --controller", name);
  }
  for (const char* name : SourceFlags::Given(app)) return InvalidArgument("{} needs --controller", name);
  if (flags.port == kPortOff && flags.rest_api_port == kPortOff && flags.listeners.grpc_socket_path.empty()) {
    return InvalidArgument(
        "--port=0 and --rest_api_port=0 leave nothing to serve on: give one of the ports, or --grpc_socket_path");
  }
  return {};
}

Status CheckPorts(const Flags& flags) {
  const bool is_same = flags.port > 0 && flags.port == flags.rest_api_port;
  if (is_same) return InvalidArgument("--port and --rest_api_port are both {}: choose two ports", flags.port);
  return {};
}

Status CheckChannelArguments(const Flags& flags) {
  for (const std::string& argument : flags.grpc_channel_arguments) {
    if (argument.find('=') == std::string::npos || argument.front() == '=') {
      return InvalidArgument("--grpc_channel_arguments: \"{}\" is not name=value", argument);
    }
  }
  return {};
}

// The flags of TensorFlow Serving that take a text. Scripts pass an empty text when a variable is not set:
// --ssl_config_file=$FILE. There, it has the effect of no flag, except that it makes the names of the model and of the
// tag empty, which would serve nothing.
constexpr std::array kMayBeEmpty = {"batching_parameters_file",
                                    "grpc_channel_arguments",
                                    "grpc_socket_path",
                                    "mixed_precision",
                                    "model_base_path",
                                    "model_config_file",
                                    "model_name",
                                    "monitoring_config_file",
                                    "platform_config_file",
                                    "saved_model_tags",
                                    "ssl_config_file",
                                    "tensorflow_session_config_file",
                                    "thread_pool_factory_config_file"};

bool IsEmptyText(const std::string& argument) {
  return std::ranges::any_of(kMayBeEmpty, [&](const char* name) { return argument == fmt::format("--{}=", name); });
}

// Returns the number that the text begins with; 0 if it does not begin with one, as TensorFlow does.
int LevelOf(const std::string& text) {
  int level = 0;
  std::from_chars(text.data(), text.data() + text.size(), level);
  return level;
}

std::string LogLevelOf(const Environment& environment) {
  const int level = LevelOf(environment.tf_cpp_min_log_level);
  if (level <= 0) return LevelOf(environment.tf_cpp_max_vlog_level) > 0 ? "debug" : "info";
  return level == 1 ? "warning" : level == 2 ? "error" : "off";
}

Status ReadDrainMax(const std::string& text, Flags& flags) {
  constexpr int64_t kMax = std::chrono::milliseconds(std::chrono::days(1)).count();
  if (text.empty()) return {};
  int64_t& value = flags.drain_max_ms;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec == std::errc() && read.ptr == end && value > 0 && value <= kMax) return {};
  return InvalidArgument("{}: \"{}\" is not a number of milliseconds from 1 to {}", node_contract::kDrainMaxVariable,
                         text, kMax);
}

void ReadEnvironment(const Environment& environment, const CLI::App& app, Flags& flags) {
  if (flags.managed()) return;
  if (!environment.model_name.empty() && app.count("--model_name") == 0) flags.model_name = environment.model_name;
  if (!environment.model_base_path.empty() && app.count("--model_base_path") == 0) {
    flags.model_base_path = Path(environment.model_base_path) / flags.model_name;
  }
  if (app.count("--log_level") == 0) flags.observe.log_level = LogLevelOf(environment);
}

}  // namespace

std::string SoftwareVersion() { return LONGSHORE_VERSION; }

void Flags::AddTo(CLI::App& app) {
  AddServingFlags(app, *this);
  AddNodeFlags(app, *this);
  AddManagedFlags(app, *this);
  batching.AddTo(app);
  loading.AddTo(app);
  tls.AddTo(app);
  auth.AddTo(app);
  listeners.AddTo(app);
  observe.AddTo(app);
  traces.AddTo(app);
  limits.AddTo(app);
  warm_up.AddTo(app);
  sources.AddTo(app);
}

Result<ParsedFlags> ParseFlags(const std::vector<std::string>& arguments, const Environment& environment) {
  ParsedFlags parsed;
  Flags& flags = parsed.flags;
  CLI::App app(kAbout, "longshore-node");
  bool version = false;
  app.add_flag("--version", version, "print the version and exit");
  app.footer(
      "The other flags of tensorflow_model_server are accepted only with values that change nothing; other values are "
      "rejected with an explanation.");
  flags.AddTo(app);
  RefusedFlags refused;
  refused.AddTo(app);
  try {
    std::vector<std::string> given(arguments.rbegin(), arguments.rend());
    std::erase_if(given, [&](const std::string& argument) {
      if (!IsEmptyText(argument)) return false;
      parsed.notes.push_back(fmt::format("{} has no effect, because it is empty", argument));
      return true;
    });
    app.parse(std::move(given));
  } catch (const CLI::CallForHelp&) {
    parsed.print = app.help();
    return parsed;
  } catch (const CLI::ParseError& error) {
    const std::string why = command_line::Explain(error, app);
    return InvalidArgument("{}{} See --help", why, why.ends_with('?') ? "" : ".");
  }
  if (version) {
    // Two lines, as tensorflow_model_server prints them.
    parsed.print =
        fmt::format("TensorFlow ModelServer: longshore-node {}\nTensorFlow Library: none\n", SoftwareVersion());
    return parsed;
  }
  if (flags.node.empty()) flags.node = HostName();
  ReadEnvironment(environment, app, flags);
  RETURN_IF_ERROR(ReadDrainMax(environment.drain_max_ms, flags));
  flags.traces.ReadEnvironment(environment.otel, app);
  ResolvePorts(app, flags);
  ResolveParallelism(flags);
  RETURN_IF_ERROR(refused.Check());
  std::ranges::move(refused.Notes(), std::back_inserter(parsed.notes));
  if (flags.managed()) RETURN_IF_ERROR(CheckManaged(app, flags));
  RETURN_IF_ERROR(flags.batching.Check());
  RETURN_IF_ERROR(flags.tls.Check());
  RETURN_IF_ERROR(flags.auth.Check(!flags.peer_address.empty()));
  RETURN_IF_ERROR(flags.observe.Check(!flags.managed() && flags.model_config_file.empty()));
  if (auto traces = flags.traces.Options(); !traces) return tl::make_unexpected(traces.error());
  RETURN_IF_ERROR(CheckPorts(flags));
  RETURN_IF_ERROR(CheckChannelArguments(flags));
  if (!flags.managed()) RETURN_IF_ERROR(CheckStandalone(app, flags));
  return parsed;
}

Parallelism ParallelismOf(const Flags& flags, int processors) {
  const int threads = flags.threads > 0 ? flags.threads : std::max(1, processors);
  const int runs = flags.max_concurrent_runs > 0 ? std::min(flags.max_concurrent_runs, threads) : threads;
  return {.runs = runs, .threads_per_run = threads / runs};
}

}  // namespace longshore::app::flags
