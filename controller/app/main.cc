// longshore-controller: brings fleets of serving nodes to what the manifests say.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <thread>

#include "common/http_client/client.h"
#include "common/log.h"
#include "controller/app/controller.h"

namespace longshore::app {
namespace {

constexpr const char* kAbout = R"(Serves TensorFlow models on fleets of longshore-node processes, as manifests say.

Put a ServingFleet and a Model into a directory and start:

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
`longshore-controller --state_dir=... --stop-fleets` ends them.)";

Path BesideOurselves(const char* program) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / program;
}

// SIGTERM and SIGINT are taken by a thread of their own; everybody else has them blocked.
class SignalThread {
 public:
  explicit SignalThread(std::function<void(int)> on_signal) : on_signal_(std::move(on_signal)) {
    thread_ = std::thread([this] {
      int signal = 0;
      sigwait(&Signals(), &signal);
      on_signal_(signal);
    });
  }
  ~SignalThread() {
    pthread_kill(thread_.native_handle(), SIGTERM);  // It may be waiting still.
    thread_.join();
  }
  static const sigset_t& Signals() {
    static const sigset_t signals = [] {
      sigset_t set;
      sigemptyset(&set);
      sigaddset(&set, SIGTERM);
      sigaddset(&set, SIGINT);
      return set;
    }();
    return signals;
  }

 private:
  const std::function<void(int)> on_signal_;
  std::thread thread_;
};

int Report(const Status& status) {
  if (status) return 0;
  spdlog::error("{}", status.error().message);
  return 1;
}

Status RunController(const Options& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Controller> controller, Controller::Start(options));
  const SignalThread signals([&](int) { controller->Stop(); });
  return controller->Run();
}

int Main(int argc, char** argv) {
  Options options;
  for (char** variable = environ; *variable != nullptr; ++variable) options.node_environment.emplace_back(*variable);
  http_client::Init();  // Changes our environment, which the nodes must not inherit.
  options.node_binary = BesideOurselves("longshore-node");
  bool stop_fleets = false;
  std::string log_level = "info";
  std::string state_dir;
  std::string manifests;
  std::string node_binary = options.node_binary;
  std::string port_file;
  int admin_port = 8600;

  CLI::App app(kAbout, "longshore-controller");
  app.set_version_flag("--version", "longshore-controller 0.1.0");
  app.add_option("--state_dir", state_dir, "Where sockets, the nodes' states and their logs are kept")->required();
  app.add_option("--manifests", manifests, "Directory of manifests (*.yaml); watched for changes");
  app.add_option("--node_binary", node_binary, "The longshore-node program; default: beside this one");
  app.add_option("--host", options.host, "Address on which fleets listen for clients")->capture_default_str();
  app.add_option("--admin_port", admin_port, "Port of /livez, /readyz and /metrics on 127.0.0.1; 0: any free one")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  app.add_option("--port_file", port_file, "File that is told the port in use: {\"admin\": N}");
  app.add_option("--log_level", log_level, "debug, info, warning or error")->capture_default_str();
  app.add_option("--node_log_level", options.node_log_level, "The same for the nodes it starts")->capture_default_str();
  app.add_option("--node_flag", options.node_flags,
                 "NAME=VALUE or NAME, a flag of longshore-node for the nodes it starts; may come often, {node} is the "
                 "node's name: --node_flag=tls_cert_file=/etc/node.crt --node_flag=capture_dir=/var/captures/{node}");
  app.add_flag("--stop-nodes-on-exit", options.stop_nodes_on_exit,
               "On SIGTERM: let the nodes finish their work and end");
  app.add_flag("--stop-fleets", stop_fleets, "Only stop all nodes of the state directory, and wait for them");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  if (const Status log = InitLog("longshore-controller", log_level); !log) {
    fmt::print(stderr, "--log_level: {}\n", log.error().message);
    return 2;
  }
  if (stop_fleets) return Report(StopFleets(std::filesystem::absolute(state_dir)));
  if (manifests.empty()) {
    fmt::print(stderr, "--manifests is required: the directory of your manifests; see --help\n");
    return 2;
  }
  options.state_dir = std::filesystem::absolute(state_dir);
  options.manifests = std::filesystem::absolute(manifests);
  options.node_binary = std::filesystem::absolute(node_binary);
  options.port_file = port_file;
  options.admin_address = fmt::format("127.0.0.1:{}", admin_port);
  return Report(RunController(options));
}

}  // namespace
}  // namespace longshore::app

int main(int argc, char** argv) {
  // Before any thread is there to take one.
  pthread_sigmask(SIG_BLOCK, &longshore::app::SignalThread::Signals(), nullptr);
  return longshore::app::Main(argc, argv);
}
