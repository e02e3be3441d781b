// longshore-control-load: the fake nodes and the bare loop of ./dev bench control.
#include <absl/synchronization/mutex.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <thread>

#include "common/json/json.h"
#include "common/net/http_client/client.h"
#include "common/os/file.h"
#include "common/os/log.h"
#include "tests/bench/control/streams.h"
#include "tests/bench/control/writers.h"

namespace longshore::bench::control {
namespace {

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// Runs the fake nodes until standard input ends. Answers each line of input with a line of counts.
Status RunNodes(const std::string& target, const std::string& ca_file, const std::string& logins_file,
                const Appearance& appearance) {
  ASSIGN_OR_RETURN(const std::string ca, ReadFile(ca_file));
  ASSIGN_OR_RETURN(std::vector<NodeLogin> logins, ReadLogins(logins_file));
  const auto streams = StartStreams(target, ca, std::move(logins), appearance);
  for (std::string line; std::getline(std::cin, line);) {
    const StreamCounts counts = streams->counts();
    Json json{{"streams", counts.streams}, {"messages", counts.messages}, {"bytes", counts.bytes}};
    json["left"] = Json::array();
    for (const auto& [version, left] : counts.left) {
      json["left"].push_back({{"model", version.served_name},
                              {"version", version.version},
                              {"nodes", left.nodes},
                              {"last_unix_ms", ToUnixMillis(left.last_at)}});
    }
    std::cout << json.dump() << std::endl;
  }
  return {};
}

Status RunFloor(const kube::Cluster& cluster, WriteOptions options) {
  options.status = true;
  ASSIGN_OR_RETURN(const Duration took, WriteModels(cluster, options));
  RETURN_IF_ERROR(DeleteModels(cluster, options.namespace_));
  std::cout << Json{{"seconds", Seconds(took)}}.dump() << std::endl;
  return {};
}

Status RunApply(const kube::Cluster& cluster, const WriteOptions& options, int seconds_max) {
  const SteadyClock clock;
  MonotonicPoint began;
  Result<Duration> written = Duration(0);
  std::thread writer;
  std::stop_source given_up;
  const Status ready = AwaitReady(cluster, options, std::chrono::seconds(seconds_max), given_up.get_token(), [&] {
    began = clock.Now();
    writer = std::thread([&] {
      written = WriteModels(cluster, options);
      if (!written) given_up.request_stop();
    });
  });
  const Duration took = clock.Now() - began;
  if (writer.joinable()) writer.join();
  if (!written) return tl::make_unexpected(written.error());
  RETURN_IF_ERROR(ready);
  std::cout << Json{{"seconds", Seconds(took)}, {"applied_seconds", Seconds(*written)}}.dump() << std::endl;
  return {};
}

Status RunTouch(const kube::Cluster& cluster, const WriteOptions& options, int times) {
  ASSIGN_OR_RETURN(const Duration took, TouchModels(cluster, options, times));
  std::cout << Json{{"seconds", Seconds(took)}}.dump() << std::endl;
  return {};
}

int Main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // The same setting as in longshore-node.
  http_client::Init();
  CHECK(InitLog("longshore-control-load", "warning"));  // The log goes to standard error.
  CLI::App app("Load for a controller on an API server that KUBECONFIG names: nodes without models, and Models.");
  std::string target;
  std::string ca;
  std::string logins;
  std::string kubeconfig;
  WriteOptions options;
  int seconds_max = 600;
  int times = 1000;
  app.require_subcommand(1);
  CLI::App* nodes = app.add_subcommand("nodes", "streams of nodes, until standard input ends");
  nodes->add_option("--target", target, "the controller: host:port")->required();
  nodes->add_option("--ca", ca, "PEM: the CA that signs the controller's certificate")->required();
  nodes->add_option("--logins", logins, "file of the nodes, one per line: FLEET NODE TOKEN")->required();
  bool beside_real_nodes = false;
  nodes->add_flag("--beside_real_nodes", beside_real_nodes,
                  "cannot be reached by peers, and have the files that the real nodes of the fleet report");
  CLI::App* floor = app.add_subcommand("floor", "create Models, write a status of each, then delete them");
  CLI::App* apply = app.add_subcommand("apply", "create Models, and wait until all are Ready");
  CLI::App* touch = app.add_subcommand("touch", "change an annotation of one Model after the other");
  for (CLI::App* verb : {floor, apply, touch}) {
    verb->add_option("--kubeconfig", kubeconfig)->envname("KUBECONFIG")->required();
    verb->add_option("--namespace", options.namespace_)->capture_default_str();
    verb->add_option("--models", options.models)->capture_default_str();
    verb->add_option("--fleets", options.fleets)->capture_default_str();
    verb->add_option("--writers", options.writers)->capture_default_str();
  }
  apply->add_option("--seconds_max", seconds_max)->capture_default_str();
  touch->add_option("--times", times)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Status done;
  if (nodes->parsed()) {
    done = RunNodes(target, ca, logins, beside_real_nodes ? Appearance{"", ""} : Appearance{});
  } else if (const auto cluster = kube::FromKubeconfig(kubeconfig, ""); !cluster) {
    done = tl::make_unexpected(cluster.error());
  } else if (touch->parsed()) {
    done = RunTouch(*cluster, options, times);
  } else {
    done = floor->parsed() ? RunFloor(*cluster, options) : RunApply(*cluster, options, seconds_max);
  }
  if (!done) std::cerr << "longshore-control-load: " << done.error().message << std::endl;
  return done ? 0 : 1;
}

}  // namespace
}  // namespace longshore::bench::control

int main(int argc, char** argv) { return longshore::bench::control::Main(argc, argv); }
