#include "controller/app/flags.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "common/base/lower_case.h"
#include "common/command_line/mistakes.h"
#include "common/net/http_client/client.h"
#include "common/os/process/descriptors.h"
#include "controller/api/parse.h"

namespace longshore::app {
namespace {

constexpr const char* kAbout = R"(Serves TensorFlow models on fleets of longshore-node, as declared in manifests.

On one host it starts the nodes itself. Put a ServingFleet and a Model into a directory and run:

  longshore-controller --state_dir=/var/lib/longshore --manifests=/etc/longshore

  apiVersion: longshore.dev/v1alpha1          apiVersion: longshore.dev/v1alpha1
  kind: ServingFleet                          kind: Model
  metadata: {name: cpu}                       metadata: {name: digits}
  spec:                                       spec:
    replicas: {min: 2}                          fleet: cpu
    ports: {grpc: 8500, rest: 8501}             source: {uri: "file:///models/digits"}
                                                version: 1

When you change the version in the manifest, the new version is rehearsed, judged, and promoted or rolled back; follow
it with `longshore get models`. The nodes continue to serve when the controller ends, and the next controller takes
them over; `longshore-controller --state_dir=... --stop-fleets` stops them.

On Kubernetes, fleets are Deployments and manifests are objects of the cluster. The chart (helm/longshore) starts the
controller with --kubernetes and the flags below.)";

constexpr const char* kOnHost = "On one host";
constexpr const char* kOnCluster = "On Kubernetes";
constexpr const char* kBoth = "Administration";
constexpr const char* kPrometheus = "Autoscaling by metrics from Prometheus";

Path SiblingProgram(const char* program) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / program;
}

// The values as typed, before they are checked.
struct RawFlags {
  bool kubernetes = false;
  bool stop_fleets = false;
  std::string state_dir;
  std::string manifests;
  std::string node_binary = SiblingProgram("longshore-node");
  std::string admin_host = "127.0.0.1";
  int admin_port = 8600;
  std::string port_file;
  std::string console_host = "127.0.0.1";
  int console_port = 8620;
  bool no_console = false;
  std::vector<std::string> console_allowed_hosts;
  std::string console_tokens;
  std::vector<std::string> console_readers;
  std::vector<std::string> console_admins;
  std::string kubeconfig;
  std::string ca_cert_file;
  std::string ca_key_file;
  std::string lease_duration = "15s";
  std::string lease_renew_deadline = "10s";
  std::string lease_retry_period = "2s";
  std::string prometheus_ca_file;
  std::string prometheus_token_file;
  std::string prometheus_token_for;
};

void AddHostFlags(CLI::App& app, RawFlags& raw, HostOptions& host) {
  const auto option = [&](const char* name, auto& value, const char* what) {
    return app.add_option(name, value, what)->group(kOnHost);
  };
  option("--state_dir", raw.state_dir, "Directory for sockets, the nodes' states and their logs");
  option("--manifests", raw.manifests, "Directory of manifests (*.yaml); watched for changes");
  option("--node_binary", raw.node_binary, "The longshore-node program; default: next to this one");
  option("--host", host.host, "Address on which fleets listen for clients")->capture_default_str();
  option("--node_log_level", host.node_log_level,
         "Log level of the nodes that the controller starts: debug, info, warning or error")
      ->capture_default_str();
  option("--node_flag", host.node_flags,
         "NAME=VALUE or NAME, a flag of longshore-node for the nodes that the controller starts; may be repeated, "
         "{node} is replaced by the node's name: --node_flag=tls_cert_file=/etc/node.crt "
         "--node_flag=capture_dir=/var/captures/{node}");
  option("--console_tokens", raw.console_tokens,
         "File with the tokens of people, one per line: NAME TOKEN SCOPE. A token of the scope admin may give commands "
         "in the web console. The file is read again when it changes");
  app.add_flag("--stop-nodes-on-exit", host.stop_nodes_on_exit,
               "On SIGTERM, let the nodes finish their work and stop them")
      ->group(kOnHost);
  app.add_flag(
         "--stop-fleets", raw.stop_fleets,
         "Stop all nodes of the state directory, wait for them, and exit; the objects then say that nothing serves")
      ->group(kOnHost);
}

void AddClusterFlags(CLI::App& app, RawFlags& raw, ClusterOptions& cluster) {
  const auto option = [&](const char* name, auto& value, const char* what) {
    return app.add_option(name, value, what)->group(kOnCluster);
  };
  app.add_flag("--kubernetes", raw.kubernetes, "Fleets are Deployments of a cluster")->group(kOnCluster);
  option("--kubeconfig", raw.kubeconfig,
         "File with the cluster and the credentials; default: those of the controller's own pod");
  option("--context", cluster.context, "Context of the kubeconfig; default: its current one");
  option("--namespace", cluster.namespace_,
         "Namespace of the Lease for the leader election; default: the controller's own namespace");
  option("--watch_namespaces", cluster.watch_namespaces,
         "Namespaces of fleets and models, separated by commas; default: all")
      ->delimiter(',');
  option("--node_image", cluster.node_image,
         "Image of the nodes of fleets that are new or lose their spec.image; other fleets keep their image");
  option("--node_address", cluster.node_address, "Address on which the leading controller listens for nodes")
      ->capture_default_str();
  option("--advertised_address", cluster.advertised_address,
         "Address that nodes dial, for example dns:///longshore-nodes.longshore.svc:8610");
  option("--ca_cert_file", raw.ca_cert_file, "PEM file: the CA that signs the certificates of controller and nodes");
  option("--ca_key_file", raw.ca_key_file, "PEM file: the key of that CA");
  option("--api_requests_per_second", cluster.api.requests_per_second,
         "Limit of requests per second to the API server, for each of the controller's clients (one for each kind of "
         "object "
         "in each watched namespace); a burst may have twice as many")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 1e6));
  option("--lease_duration", raw.lease_duration,
         "Other controllers take the Lease over if it was not renewed for this time")
      ->capture_default_str();
  option("--lease_renew_deadline", raw.lease_renew_deadline,
         "A leader that cannot renew the Lease for this time stops leading")
      ->capture_default_str();
  option("--lease_retry_period", raw.lease_retry_period, "Interval at which the Lease is renewed or read")
      ->capture_default_str();
}

void AddConsoleFlags(CLI::App& app, RawFlags& raw, ClusterOptions& cluster) {
  const auto option = [&](const char* name, auto& value, const char* what, const char* group) {
    return app.add_option(name, value, what)->group(group);
  };
  option("--console_host", raw.console_host, "Address of the web console", kBoth)->capture_default_str();
  option("--console_port", raw.console_port, "Port of the web console; 0: any free one", kBoth)
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  option("--console_allowed_hosts", raw.console_allowed_hosts,
         "Host names under which people open the web console, separated by commas; addresses and localhost are always "
         "allowed",
         kBoth)
      ->delimiter(',');
  app.add_flag("--no-console", raw.no_console, "Serve no web console")->group(kBoth);
  option("--console_service_address", cluster.console_service.address,
         "Address on which the console also listens with TLS, where each request needs a token: [::]:8630", kOnCluster);
  option("--console_audience", cluster.console_service.audience,
         "The audience that tokens for the console must have: kubectl create token NAME --audience AUDIENCE",
         kOnCluster)
      ->capture_default_str();
  option("--console_readers", raw.console_readers,
         "Subjects whose tokens may read the console, separated by commas: system:serviceaccount:NAMESPACE:NAME",
         kOnCluster)
      ->delimiter(',');
  option("--console_admins", raw.console_admins, "Subjects whose tokens may also give commands in the console",
         kOnCluster)
      ->delimiter(',');
}

void AddCommonFlags(CLI::App& app, RawFlags& raw, Flags& flags) {
  app.add_option("--admin_host", raw.admin_host, "Address of /livez, /readyz and /metrics")
      ->group(kBoth)
      ->capture_default_str();
  app.add_option("--admin_port", raw.admin_port, "Port of /livez, /readyz and /metrics; 0: any free one")
      ->group(kBoth)
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  app.add_option("--port_file", raw.port_file,
                 "File to which the ports in use are written: {\"admin\": N, \"console\": N}")
      ->group(kBoth);
  app.add_option("--log_level", flags.log_level, "Log level: debug, info, warning or error")
      ->group(kBoth)
      ->capture_default_str();
}

void AddPrometheusFlags(CLI::App& app, RawFlags& raw) {
  const auto option = [&](const char* name, std::string& value, const char* what) {
    app.add_option(name, value, what)->group(kPrometheus);
  };
  option("--prometheus_ca_file", raw.prometheus_ca_file,
         "PEM file: the CAs of the certificate of a Prometheus with https; default: the system's CAs");
  option("--prometheus_token_file", raw.prometheus_token_file,
         "File with the bearer token that is sent to --prometheus_token_for");
  option("--prometheus_token_for", raw.prometheus_token_for,
         "https://host:port of the only server that receives the token, whatever URL a fleet names");
}

// Returns an error for the first given flag that belongs to the other mode.
Status CheckMode(const CLI::App& app, bool kubernetes) {
  const char* foreign = kubernetes ? kOnHost : kOnCluster;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() != foreign || option->count() == 0) continue;
    if (kubernetes)
      return InvalidArgument("{} is for one host and cannot be used with --kubernetes", option->get_name());
    return InvalidArgument("{} needs --kubernetes", option->get_name());
  }
  return {};
}

Status CheckGiven(const char* flag, const std::string& value, const char* meaning) {
  if (!value.empty()) return {};
  return InvalidArgument("{} is required: {}; see --help", flag, meaning);
}

Status ReadDuration(const char* flag, const std::string& text, Duration* to) {
  const auto duration = api::ParseDuration(text);
  if (!duration) return Prefixed(duration.error(), flag);
  *to = *duration;
  return {};
}

ConsoleOptions ConsoleFrom(const RawFlags& raw) {
  ConsoleOptions console;
  console.address = raw.no_console ? "" : process::HostPort(raw.console_host, raw.console_port);
  for (const std::string& name : raw.console_allowed_hosts) console.allowed_hosts.insert(LowerCase(name));
  return console;
}

// The listener of --console_host has no TLS.
Status CheckLoopback(const char* flag, const RawFlags& raw) {
  if (raw.console_host == "127.0.0.1" || raw.console_host == "::1") return {};
  return InvalidArgument(
      "{} needs --console_host=127.0.0.1 or ::1: the console there has no TLS, so others could read the tokens", flag);
}

Status FinishHost(const RawFlags& raw, Flags& flags) {
  RETURN_IF_ERROR(CheckGiven("--state_dir", raw.state_dir, "the directory of sockets and the nodes' states"));
  if (!raw.stop_fleets) RETURN_IF_ERROR(CheckGiven("--manifests", raw.manifests, "the directory of your manifests"));
  flags.verb = raw.stop_fleets ? Flags::Verb::kStopFleets : Flags::Verb::kHost;
  flags.host.state_dir = std::filesystem::absolute(raw.state_dir);
  if (!raw.manifests.empty()) flags.host.manifests = std::filesystem::absolute(raw.manifests);
  flags.host.node_binary = std::filesystem::absolute(raw.node_binary);
  flags.host.console = ConsoleFrom(raw);
  flags.host.console_tokens = raw.console_tokens;
  return raw.console_tokens.empty() ? Status() : CheckLoopback("--console_tokens", raw);
}

Status FinishConsoleService(const RawFlags& raw, ClusterOptions& cluster) {
  cluster.console = ConsoleFrom(raw);
  for (const std::string& subject : raw.console_readers)
    cluster.console_service.subjects[subject] = console::Right::kRead;
  for (const std::string& subject : raw.console_admins)
    cluster.console_service.subjects[subject] = console::Right::kCommand;
  if (raw.no_console && !cluster.console_service.address.empty())
    return InvalidArgument("--console_service_address and --no-console exclude each other");
  if (cluster.console_service.audience.empty()) return InvalidArgument("--console_audience must not be empty");
  if (!cluster.console_service.address.empty() && cluster.console_service.subjects.empty())
    return InvalidArgument("--console_service_address needs --console_readers or --console_admins");
  return raw.console_admins.empty() || raw.no_console ? Status() : CheckLoopback("--console_admins", raw);
}

Status FinishCluster(const RawFlags& raw, Flags& flags) {
  ClusterOptions& cluster = flags.cluster;
  RETURN_IF_ERROR(CheckGiven("--node_image", cluster.node_image, "the image of the nodes"));
  RETURN_IF_ERROR(CheckGiven("--advertised_address", cluster.advertised_address, "the address that nodes dial"));
  RETURN_IF_ERROR(
      CheckGiven("--ca_cert_file", raw.ca_cert_file, "the CA that signs the certificates of controller and nodes"));
  RETURN_IF_ERROR(CheckGiven("--ca_key_file", raw.ca_key_file, "the key of that CA"));
  flags.verb = Flags::Verb::kCluster;
  cluster.api.burst = 2 * cluster.api.requests_per_second;
  cluster.kubeconfig = raw.kubeconfig;
  RETURN_IF_ERROR(FinishConsoleService(raw, cluster));
  cluster.ca_cert_file = raw.ca_cert_file;
  cluster.ca_key_file = raw.ca_key_file;
  RETURN_IF_ERROR(ReadDuration("--lease_duration", raw.lease_duration, &cluster.lease.lease_duration));
  RETURN_IF_ERROR(ReadDuration("--lease_renew_deadline", raw.lease_renew_deadline, &cluster.lease.renew_deadline));
  RETURN_IF_ERROR(ReadDuration("--lease_retry_period", raw.lease_retry_period, &cluster.lease.retry_period));
  const std::string problem = leader::ProblemWith(cluster.lease);
  if (!problem.empty()) return InvalidArgument("{}", problem);
  return {};
}

Result<signals::PrometheusTrust> FinishPrometheus(const RawFlags& raw) {
  const std::string& receiver = raw.prometheus_token_for;
  if (raw.prometheus_token_file.empty() != receiver.empty())
    return InvalidArgument("--prometheus_token_file and --prometheus_token_for must be used together");
  if (!receiver.empty()) {
    const auto origin = http_client::OriginOf(receiver);
    if (!origin) return Prefixed(origin.error(), "--prometheus_token_for");
    if (!origin->starts_with("https://"))
      return InvalidArgument("--prometheus_token_for={}: a token is sent over https only", receiver);
  }
  return signals::PrometheusTrust{raw.prometheus_ca_file, raw.prometheus_token_file, receiver};
}

}  // namespace

Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv) {
  Flags flags;
  RawFlags raw;
  CLI::App app(kAbout, "longshore-controller");
  app.set_version_flag("--version", "longshore-controller " LONGSHORE_VERSION);
  AddHostFlags(app, raw, flags.host);
  AddClusterFlags(app, raw, flags.cluster);
  AddConsoleFlags(app, raw, flags.cluster);
  AddPrometheusFlags(app, raw);
  AddCommonFlags(app, raw, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0)
      return InvalidArgument("{} (see longshore-controller --help)", command_line::Explain(error, app));
    app.exit(error);
    return std::nullopt;
  }
  RETURN_IF_ERROR(CheckMode(app, raw.kubernetes));
  RETURN_IF_ERROR(raw.kubernetes ? FinishCluster(raw, flags) : FinishHost(raw, flags));
  flags.host.admin = {process::HostPort(raw.admin_host, raw.admin_port), raw.port_file};
  flags.cluster.admin = flags.host.admin;
  ASSIGN_OR_RETURN(flags.host.prometheus, FinishPrometheus(raw));
  flags.cluster.prometheus = flags.host.prometheus;
  return flags;
}

}  // namespace longshore::app
