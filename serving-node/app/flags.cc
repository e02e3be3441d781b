#include "serving-node/app/flags.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "serving-node/app/refused_flags.h"

namespace longshore::app {
namespace {

constexpr const char* kAbout =
    R"(longshore-node serves TensorFlow SavedModels over TensorFlow Serving's gRPC and REST APIs.

Alone, with TensorFlow Serving's flags:
  longshore-node --model_base_path=/models/half_plus_two
      serves the highest version below that directory as "default", gRPC on 8500, REST on 8501:
      curl -d '{"instances": [1, 2, 5]}' http://localhost:8501/v1/models/default:predict
  longshore-node --model_name=digits --model_base_path=/models/digits --port=8500 --rest_api_port=8501 \
      --enable_batching --batching_parameters_file=/models/batching.txt

Managed, as a node of a fleet (the controller starts it so):
  longshore-node --controller=unix:/run/longshore/controller.sock --fleet=vision/cpu --node=cpu-0 \
      --state_dir=/var/lib/longshore/cpu-0 --peer_address=unix:/var/lib/longshore/cpu-0/peer.sock

A request that failed runs again:  longshore-node replay BUNDLE  (see --capture_dir, and replay --help)

Health and metrics:  curl http://localhost:8502/readyz   (also /livez /metrics /debug/state /debug/log_level /debug/profile)
It leaves gracefully on SIGTERM; a second signal ends it at once.
)";

std::string HostName() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "node";
  return name;
}

void AddServingFlags(CLI::App& app, Flags& flags) {
  const std::string group = "TensorFlow Serving's flags";
  app.add_option("--port", flags.port, "gRPC port; 0: none, or with --port_file any free one [8500]")->group(group);
  app.add_option("--rest_api_port", flags.rest_api_port,
                 "REST port; 0: none, or with --port_file any free one [8501 when neither port is given, else none]")
      ->group(group);
  app.add_option("--rest_api_num_threads", flags.rest_api_num_threads, "threads that read JSON [one per processor]")
      ->group(group);
  app.add_option("--rest_api_timeout_in_ms", flags.rest_api_timeout_in_ms, "longest REST prediction [30000]")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_flag("--rest_api_enable_cors_support", flags.rest_api_enable_cors_support, "answer pages of other origins")
      ->group(group);
  app.add_option("--model_name", flags.model_name, "what clients call the model [default]")->group(group);
  app.add_option("--model_base_path", flags.model_base_path, "directory of versions: PATH/1/saved_model.pb")
      ->group(group);
  app.add_option("--model_config_file", flags.model_config_file,
                 "text-proto ModelServerConfig: several models, version policies, labels; wins over the two above")
      ->group(group);
  app.add_option("--model_config_file_poll_wait_seconds", flags.model_config_file_poll_wait_seconds,
                 "between two looks at that file; 0: read once [0]")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  app.add_flag("--allow_version_labels_for_unavailable_models", flags.allow_version_labels_for_unavailable_models,
               "a reload may give an unused label to a version that is not available yet")
      ->group(group);
  app.add_flag("--enable_signature_method_name_check", flags.enable_signature_method_name_check,
               "a signature answers only to the method that it names")
      ->group(group);
  app.add_flag("--enable_serialization_as_tensor_content", flags.enable_serialization_as_tensor_content,
               "numbers of gRPC answers as tensor_content instead of typed fields: quicker to read for large ones")
      ->group(group);
  app.add_option("--saved_model_tags", flags.saved_model_tags, "tags of the graph [serve]")
      ->delimiter(',')
      ->group(group);
  app.add_option("--tensorflow_session_parallelism", flags.tensorflow_session_parallelism,
                 "both of the next [0: one per processor]")
      ->check(CLI::Range(0, 4096))
      ->group(group);
  app.add_option("--tensorflow_intra_op_parallelism", flags.tensorflow_intra_op_parallelism, "as --threads")
      ->check(CLI::Range(0, 4096))
      ->group(group);
  app.add_option("--tensorflow_inter_op_parallelism", flags.tensorflow_inter_op_parallelism, "as --max_concurrent_runs")
      ->check(CLI::Range(0, 4096))
      ->group(group);
  app.add_option("--tensorflow_session_config_file", flags.tensorflow_session_config_file,
                 "text-proto ConfigProto with intra_op_ and inter_op_parallelism_threads")
      ->group(group);
  app.add_option("--grpc_channel_arguments", flags.grpc_channel_arguments, "of the gRPC server: name=value,name=value")
      ->delimiter(',')
      ->group(group);
}

void AddNodeFlags(CLI::App& app, Flags& flags) {
  const std::string group = "The node";
  app.add_option("--host", flags.host, "address that gRPC and REST listen on [0.0.0.0]")->group(group);
  app.add_option("--admin_host", flags.admin_host, "address of health and metrics [127.0.0.1]")->group(group);
  app.add_option("--admin_port", flags.admin_port, "its port; 0: any free one [8502]")
      ->check(CLI::Range(0, 65535))
      ->group(group);
  app.add_option("--port_file", flags.port_file, R"(written once listening: {"grpc": P, "rest": P, "admin": P})")
      ->group(group);
  app.add_option("--max_concurrent_runs", flags.max_concurrent_runs, "runs admitted at once [one per processor]")
      ->check(CLI::Range(0, batching::kConcurrentRunsMax))
      ->group(group);
  app.add_option("--threads", flags.threads,
                 "threads of the engine [one per processor], shared evenly by --max_concurrent_runs: with 1, each run "
                 "has all of them")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  app.add_option("--simulated_run_ms", flags.simulated_run_ms,
                 "a run takes at least so long, for trying out scaling [0]")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  app.add_option("--connection_age_max_ms", flags.connection_age_max_ms,
                 "older connections are asked to reconnect; 0: never, then leaving waits for the clients to go [10000]")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  app.add_option("--node", flags.node, "its name, in answers and reports [the host's name]")->group(group);
}

void AddManagedFlags(CLI::App& app, Flags& flags) {
  const std::string group = "A node of a fleet";
  app.add_option("--controller", flags.controller, "where to dial: unix:/path, host:port or dns:///host:port")
      ->group(group);
  app.add_option("--controller_ca_file", flags.controller_ca_file,
                 "PEM: who signs the certificates of the controller and of other nodes; without it both are dialled in "
                 "plaintext")
      ->group(group);
  app.add_option("--controller_token_file", flags.controller_token_file, "what tells the controller who this node is")
      ->group(group);
  app.add_option("--fleet", flags.fleet, "namespace/name")->group(group);
  app.add_option("--state_dir", flags.state_dir, "a directory of this node's own; kept over restarts")->group(group);
  app.add_option("--grpc_listen_fd", flags.grpc_listen_fd, "inherited listening socket, instead of --port")
      ->group(group);
  app.add_option("--rest_listen_fd", flags.rest_listen_fd, "inherited listening socket, instead of --rest_api_port")
      ->group(group);
  app.add_option(
         "--peer_address", flags.peer_address,
         "where other nodes reach this one: unix:/path or host:port; with --controller_ca_file only nodes of the same "
         "fleet, by certificates")
      ->group(group);
  app.add_option(
         "--peers", flags.peers,
         "whom a node without a state asks for it when no controller answers: gRPC targets, \"unix:/dir/*/peer.sock\"")
      ->delimiter(',')
      ->group(group);
}

// TensorFlow's words for the engine's threads and the runs at once. Ours win.
void ResolveParallelism(Flags& flags) {
  const auto first = [](int a, int b, int c) { return a != 0 ? a : b != 0 ? b : c; };
  flags.threads = first(flags.threads, flags.tensorflow_intra_op_parallelism, flags.tensorflow_session_parallelism);
  flags.max_concurrent_runs =
      first(flags.max_concurrent_runs, flags.tensorflow_inter_op_parallelism, flags.tensorflow_session_parallelism);
}

// What the user wrote as 0 means none, or any free one where the port file tells which.
void ResolvePorts(const CLI::App& app, Flags& flags) {
  const bool port_given = app.count("--port") > 0;
  const bool rest_given = app.count("--rest_api_port") > 0;
  const int zero = flags.port_file.empty() ? kPortOff : 0;
  if (flags.port == 0) flags.port = zero;
  if (rest_given && flags.rest_api_port == 0) flags.rest_api_port = zero;
  if (!port_given && !rest_given && !flags.managed()) flags.rest_api_port = 8501;
}

// What a node alone decides, and who decides it in a fleet.
constexpr std::pair<const char*, const char*> kOfANodeAlone[] = {
    {"--model_base_path", "a managed node is told its models"},
    {"--model_name", "a managed node is told its models"},
    {"--model_config_file", "a managed node is told its models"},
    {"--model_config_file_poll_wait_seconds", "a managed node is told its models"},
    {"--allow_version_labels_for_unavailable_models", "a managed node is told its models"},
    {"--file_system_poll_wait_seconds", "a managed node is told its versions"},
    {"--max_num_load_retries", "the controller says when a version is loaded again"},
    {"--load_retry_interval_micros", "the controller says when a version is loaded again"},
    {"--version_transition", "the controller says when a version is unloaded"},
    {"--enable_batching", "each Model says how it batches"},
    {"--batching_parameters_file", "each Model says how it batches"},
    {"--enable_per_model_batching_parameters", "each Model says how it batches"},
};

Status CheckManaged(const CLI::App& app, const Flags& flags) {
  for (const auto& [name, instead] : kOfANodeAlone) {
    if (app.count(name) > 0) return InvalidArgument("{} and --controller exclude each other: {}", name, instead);
  }
  if (flags.fleet.find('/') == std::string::npos) return InvalidArgument("--controller needs --fleet=namespace/name");
  if (flags.state_dir.empty()) return InvalidArgument("--controller needs --state_dir");
  if (!flags.controller_token_file.empty() && flags.controller_ca_file.empty())
    return InvalidArgument("--controller_token_file needs --controller_ca_file: a token is not shown in plaintext");
  return {};
}

Status CheckAlone(const CLI::App& app, const Flags& flags) {
  if (flags.model_base_path.empty() && flags.model_config_file.empty()) {
    return InvalidArgument(
        "--model_base_path is missing: the directory that holds 1/saved_model.pb; or --model_config_file. See --help");
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
  if (flags.port == kPortOff && flags.rest_api_port == kPortOff && flags.doors.grpc_socket_path.empty()) {
    return InvalidArgument("--port=0 and --rest_api_port=0 leave nothing to serve on");
  }
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

tl::unexpected<Error> Explain(const CLI::ParseError& error) {
  const auto* extras = dynamic_cast<const CLI::ExtrasError*>(&error);
  if (extras == nullptr) return InvalidArgument("{}. See --help", error.what());
  const std::string text = error.what();  // "The following argument was not expected: --x"
  const size_t colon = text.rfind(": ");
  return InvalidArgument("unknown argument: {}. See --help", colon == text.npos ? text : text.substr(colon + 2));
}

void ReadEnvironment(const Environment& environment, const CLI::App& app, Flags& flags) {
  if (flags.managed()) return;
  if (!environment.model_name.empty() && app.count("--model_name") == 0) flags.model_name = environment.model_name;
  if (!environment.model_base_path.empty() && app.count("--model_base_path") == 0) {
    flags.model_base_path = Path(environment.model_base_path) / flags.model_name;
  }
}

}  // namespace

std::string SoftwareVersion() { return LONGSHORE_VERSION; }

Result<ParsedFlags> ParseFlags(const std::vector<std::string>& arguments, const Environment& environment) {
  ParsedFlags parsed;
  Flags& flags = parsed.flags;
  CLI::App app(kAbout, "longshore-node");
  bool version = false;
  app.add_flag("--version", version, "print the version and end");
  app.footer(
      "Other flags of tensorflow_model_server are known and refused with the reason when they ask for something.");
  AddServingFlags(app, flags);
  AddNodeFlags(app, flags);
  AddManagedFlags(app, flags);
  flags.batching.AddTo(app);
  flags.loading.AddTo(app);
  flags.tls.AddTo(app);
  flags.auth.AddTo(app);
  flags.doors.AddTo(app);
  flags.observe.AddTo(app);
  flags.limits.AddTo(app);
  flags.warm_up.AddTo(app);
  flags.sources.AddTo(app);
  RefusedFlags refused;
  refused.AddTo(app);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    parsed.print = app.help();
    return parsed;
  } catch (const CLI::ParseError& error) {
    return Explain(error);
  }
  if (version) {
    // Two lines, as tensorflow_model_server prints them.
    parsed.print =
        fmt::format("TensorFlow ModelServer: longshore-node {}\nTensorFlow Library: none\n", SoftwareVersion());
    return parsed;
  }
  if (flags.node.empty()) flags.node = HostName();
  ReadEnvironment(environment, app, flags);
  ResolvePorts(app, flags);
  ResolveParallelism(flags);
  RETURN_IF_ERROR(refused.Check());
  if (flags.managed()) RETURN_IF_ERROR(CheckManaged(app, flags));
  RETURN_IF_ERROR(flags.limits.Check());
  RETURN_IF_ERROR(flags.batching.Check());
  RETURN_IF_ERROR(flags.tls.Check());
  RETURN_IF_ERROR(flags.auth.Check(!flags.peer_address.empty()));
  RETURN_IF_ERROR(flags.observe.Check(!flags.managed() && flags.model_config_file.empty()));
  RETURN_IF_ERROR(CheckChannelArguments(flags));
  if (!flags.managed()) RETURN_IF_ERROR(CheckAlone(app, flags));
  return parsed;
}

Parallelism ParallelismOf(const Flags& flags, int processors) {
  const int threads = flags.threads > 0 ? flags.threads : std::max(1, processors);
  const int runs = flags.max_concurrent_runs > 0 ? std::min(flags.max_concurrent_runs, threads) : threads;
  return {.runs = runs, .threads_per_run = threads / runs};
}

}  // namespace longshore::app
