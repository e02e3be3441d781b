#include "controller/app/flags.h"

#include <CLI/CLI.hpp>
#include <sstream>
#include <utility>

#include "common/http_client/client.h"
#include "controller/api/parse.h"

namespace longshore::app {
namespace {

constexpr const char* kAbout = R"(Serves TensorFlow models on fleets of longshore-node, as manifests say.

On one host it starts the nodes itself. Put a ServingFleet and a Model into a directory and start:

  longshore-controller --state_dir=/var/lib/longshore --manifests=/etc/longshore

  apiVersion: longshore.dev/v1alpha1          apiVersion: longshore.dev/v1alpha1
  kind: ServingFleet                          kind: Model
  metadata: {name: cpu}                       metadata: {name: digits}
  spec:                                       spec:
    replicas: {min: 2, max: 4}                  fleet: cpu
    ports: {grpc: 8500, rest: 8501}             source: {uri: "file:///models/digits"}
                                                version: 1

Change the version in the manifest, and the new one is tried, judged and promoted or rolled back; look with
`longshore get models`. The nodes go on serving when the controller ends, and the next controller takes them over;
`longshore-controller --state_dir=... --stop-fleets` ends them.

On Kubernetes fleets are Deployments and manifests are objects of the cluster. The chart (helm/longshore) starts it with
--kubernetes and the flags below.)";

constexpr const char* kOnHost = "On one host";
constexpr const char* kOnCluster = "On Kubernetes";
constexpr const char* kBoth = "Administration";
constexpr const char* kPrometheus = "Fleets that scale by Prometheus";

Path BesideOurselves(const char* program) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / program;
}

// As it was typed.
struct Typed {
  bool kubernetes = false;
  bool stop_fleets = false;
  std::string state_dir;
  std::string manifests;
  std::string node_binary = BesideOurselves("longshore-node");
  std::string admin_host = "127.0.0.1";
  int admin_port = 8600;
  std::string port_file;
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

void AddHostFlags(CLI::App& app, Typed& typed, HostOptions& host) {
  const auto option = [&](const char* name, auto& value, const char* what) {
    return app.add_option(name, value, what)->group(kOnHost);
  };
  option("--state_dir", typed.state_dir, "Where sockets, the nodes' states and their logs are kept");
  option("--manifests", typed.manifests, "Directory of manifests (*.yaml); watched for changes");
  option("--node_binary", typed.node_binary, "The longshore-node program; default: beside this one");
  option("--host", host.host, "Address on which fleets listen for clients")->capture_default_str();
  option("--node_log_level", host.node_log_level, "debug, info, warning or error, for the nodes it starts")
      ->capture_default_str();
  option("--node_flag", host.node_flags,
         "NAME=VALUE or NAME, a flag of longshore-node for the nodes it starts; may come often, {node} is the "
         "node's name: --node_flag=tls_cert_file=/etc/node.crt --node_flag=capture_dir=/var/captures/{node}");
  app.add_flag("--stop-nodes-on-exit", host.stop_nodes_on_exit, "On SIGTERM: let the nodes finish their work and end")
      ->group(kOnHost);
  app.add_flag("--stop-fleets", typed.stop_fleets, "Only stop all nodes of the state directory, and wait for them")
      ->group(kOnHost);
}

void AddClusterFlags(CLI::App& app, Typed& typed, ClusterOptions& cluster) {
  const auto option = [&](const char* name, auto& value, const char* what) {
    return app.add_option(name, value, what)->group(kOnCluster);
  };
  app.add_flag("--kubernetes", typed.kubernetes, "Fleets are Deployments of a cluster")->group(kOnCluster);
  option("--kubeconfig", typed.kubeconfig, "Which cluster, and who we are; default: that of the pod this runs in");
  option("--context", cluster.context, "Context of the kubeconfig; default: its current one");
  option("--namespace", cluster.namespace_, "Of the Lease by which one of several controllers leads; default: our own");
  option("--watch_namespaces", cluster.watch_namespaces, "Namespaces of fleets and models, with commas; default: all")
      ->delimiter(',');
  option("--node_image", cluster.node_image,
         "Image of the nodes of fleets that name none; theirs stays when it changes");
  option("--node_address", cluster.node_address, "Where nodes are listened for by the controller that leads")
      ->capture_default_str();
  option("--advertised_address", cluster.advertised_address,
         "What nodes dial: dns:///longshore-nodes.longshore.svc:8610");
  option("--ca_cert_file", typed.ca_cert_file, "PEM: the authority that signs the certificates nodes trust");
  option("--ca_key_file", typed.ca_key_file, "PEM: its key");
  option("--api_requests_per_second", cluster.api.requests_per_second,
         "At most so many requests to the API server, of each kind of client; twice as many in a burst")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 1e6));
  option("--lease_duration", typed.lease_duration, "Others take a Lease over that was not renewed for so long")
      ->capture_default_str();
  option("--lease_renew_deadline", typed.lease_renew_deadline,
         "A leader that cannot renew it for so long leads no more")
      ->capture_default_str();
  option("--lease_retry_period", typed.lease_retry_period, "How often the Lease is renewed or looked at")
      ->capture_default_str();
}

void AddCommonFlags(CLI::App& app, Typed& typed, Flags& flags) {
  app.add_option("--admin_host", typed.admin_host, "Address of /livez, /readyz and /metrics")
      ->group(kBoth)
      ->capture_default_str();
  app.add_option("--admin_port", typed.admin_port, "Port of /livez, /readyz and /metrics; 0: any free one")
      ->group(kBoth)
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  app.add_option("--port_file", typed.port_file, "File that is told the port in use: {\"admin\": N}")->group(kBoth);
  app.add_option("--log_level", flags.log_level, "debug, info, warning or error")->group(kBoth)->capture_default_str();
}

void AddPrometheusFlags(CLI::App& app, Typed& typed) {
  const auto option = [&](const char* name, std::string& value, const char* what) {
    app.add_option(name, value, what)->group(kPrometheus);
  };
  option("--prometheus_ca_file", typed.prometheus_ca_file,
         "PEM: who signs the certificate of a Prometheus by https; default: the system's authorities");
  option("--prometheus_token_file", typed.prometheus_token_file,
         "What is shown to --prometheus_token_for, as a bearer");
  option("--prometheus_token_for", typed.prometheus_token_for,
         "https://host:port: the only one that is shown the token, whatever URL a fleet names");
}

// The first one that was said and is of the other home.
Status CheckHome(const CLI::App& app, bool kubernetes) {
  const char* foreign = kubernetes ? kOnHost : kOnCluster;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() != foreign || option->count() == 0) continue;
    if (kubernetes)
      return InvalidArgument("{} is for one host, and has no meaning with --kubernetes", option->get_name());
    return InvalidArgument("{} needs --kubernetes", option->get_name());
  }
  return {};
}

Status CheckGiven(const char* flag, const std::string& value, const char* what) {
  if (!value.empty()) return {};
  return InvalidArgument("{} is required: {}; see --help", flag, what);
}

Status ReadDuration(const char* flag, const std::string& text, Duration* to) {
  const auto duration = api::ParseDuration(text);
  if (!duration) return Prefixed(duration.error(), flag);
  *to = *duration;
  return {};
}

Status FinishHost(const Typed& typed, Flags& flags) {
  RETURN_IF_ERROR(CheckGiven("--state_dir", typed.state_dir, "the directory of sockets and the nodes' states"));
  if (!typed.stop_fleets)
    RETURN_IF_ERROR(CheckGiven("--manifests", typed.manifests, "the directory of your manifests"));
  flags.verb = typed.stop_fleets ? Flags::Verb::kStopFleets : Flags::Verb::kHost;
  flags.host.state_dir = std::filesystem::absolute(typed.state_dir);
  if (!typed.manifests.empty()) flags.host.manifests = std::filesystem::absolute(typed.manifests);
  flags.host.node_binary = std::filesystem::absolute(typed.node_binary);
  return {};
}

Status FinishCluster(const Typed& typed, Flags& flags) {
  ClusterOptions& cluster = flags.cluster;
  RETURN_IF_ERROR(CheckGiven("--node_image", cluster.node_image, "the image of the nodes"));
  RETURN_IF_ERROR(CheckGiven("--advertised_address", cluster.advertised_address, "what nodes dial"));
  RETURN_IF_ERROR(CheckGiven("--ca_cert_file", typed.ca_cert_file, "the authority of what nodes trust"));
  RETURN_IF_ERROR(CheckGiven("--ca_key_file", typed.ca_key_file, "the key of that authority"));
  flags.verb = Flags::Verb::kCluster;
  cluster.api.burst = 2 * cluster.api.requests_per_second;
  cluster.kubeconfig = typed.kubeconfig;
  cluster.ca_cert_file = typed.ca_cert_file;
  cluster.ca_key_file = typed.ca_key_file;
  RETURN_IF_ERROR(ReadDuration("--lease_duration", typed.lease_duration, &cluster.lease.lease_duration));
  RETURN_IF_ERROR(ReadDuration("--lease_renew_deadline", typed.lease_renew_deadline, &cluster.lease.renew_deadline));
  RETURN_IF_ERROR(ReadDuration("--lease_retry_period", typed.lease_retry_period, &cluster.lease.retry_period));
  const std::string wrong = leader::WrongWith(cluster.lease);
  if (!wrong.empty()) return InvalidArgument("{}", wrong);
  return {};
}

Result<metrics::PrometheusTrust> FinishPrometheus(const Typed& typed) {
  const std::string& for_ = typed.prometheus_token_for;
  if (typed.prometheus_token_file.empty() != for_.empty())
    return InvalidArgument("--prometheus_token_file and --prometheus_token_for go together");
  if (!for_.empty()) {
    const auto origin = http_client::OriginOf(for_);
    if (!origin) return Prefixed(origin.error(), "--prometheus_token_for");
    if (!origin->starts_with("https://"))
      return InvalidArgument("--prometheus_token_for={}: a token is shown by https only", for_);
  }
  return metrics::PrometheusTrust{typed.prometheus_ca_file, typed.prometheus_token_file, for_};
}

}  // namespace

Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv) {
  Flags flags;
  Typed typed;
  CLI::App app(kAbout, "longshore-controller");
  app.set_version_flag("--version", "longshore-controller 0.1.0");
  AddHostFlags(app, typed, flags.host);
  AddClusterFlags(app, typed, flags.cluster);
  AddPrometheusFlags(app, typed);
  AddCommonFlags(app, typed, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream text;
    if (app.exit(error, std::cout, text) == 0) return std::nullopt;
    return InvalidArgument("{}", text.str());
  }
  RETURN_IF_ERROR(CheckHome(app, typed.kubernetes));
  RETURN_IF_ERROR(typed.kubernetes ? FinishCluster(typed, flags) : FinishHost(typed, flags));
  const std::string host =
      typed.admin_host.find(':') == std::string::npos ? typed.admin_host : fmt::format("[{}]", typed.admin_host);
  flags.host.admin = {fmt::format("{}:{}", host, typed.admin_port), typed.port_file};
  flags.cluster.admin = flags.host.admin;
  ASSIGN_OR_RETURN(flags.host.prometheus, FinishPrometheus(typed));
  flags.cluster.prometheus = flags.host.prometheus;
  return flags;
}

}  // namespace longshore::app
