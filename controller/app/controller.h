// Assembles the controller: only this folder uses concrete types of stores, fleets and sources.
//
// The controller runs in one of two modes: on one host, where it starts the nodes itself, or on a cluster, where
// Kubernetes starts them.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/path.h"
#include "controller/console/access.h"
#include "controller/kube/api.h"
#include "controller/leader/election.h"
#include "controller/signals/signals.h"

namespace longshore::app {

// The listener for health and metrics.
struct AdminOptions {
  std::string address = "127.0.0.1:8600";
  Path port_file{};  // If not empty, the ports in use are written to this file: {"admin": N, "console": N}.
};

// The web console (docs/console.md).
struct ConsoleOptions {
  std::string address = "127.0.0.1:8620";  // "": there is no console.
  std::set<std::string> allowed_hosts{};
};

// The listener of the console for people who reach it by a Service: with TLS, and a token for each request.
struct ConsoleServiceOptions {
  std::string address{};                       // "": no Service leads to the console.
  std::string audience = "longshore-console";  // That of accepted tokens.
  console::Subjects subjects{};                // Also for the other listener of the console.
};

struct HostOptions {
  Path state_dir{};
  Path manifests{};
  Path node_binary{};
  std::string host = "127.0.0.1";  // The address on which fleets listen for clients.
  std::string node_log_level = "info";
  std::vector<std::string> node_environment{};  // "NAME=value"; nodes inherit no other variables.
  std::vector<std::string> node_flags{};        // "NAME=value" or "NAME"; "{node}" is replaced by the node's name.
  AdminOptions admin{};
  ConsoleOptions console{};
  Path console_tokens{};  // The tokens of people; "": the console accepts no commands.
  signals::PrometheusTrust prometheus{};
  bool stop_nodes_on_exit = false;
};

struct ClusterOptions {
  Path kubeconfig{};                            // "": the credentials of the pod in which this process runs.
  std::string context{};                        // The context of the kubeconfig; "": its current one.
  std::string namespace_{};                     // The namespace of the Lease; "": that of the pod or of the context.
  std::vector<std::string> watch_namespaces{};  // The namespaces to watch; empty: all.
  std::string node_image{};                     // The image for fleets whose spec does not set one.
  std::string node_address = "[::]:8610";       // The leader listens here for nodes.
  std::string advertised_address{};             // The address that nodes dial: "dns:///HOST:PORT".
  Path ca_cert_file{};                          // PEM: the CA that signs the certificates of controller and nodes.
  Path ca_key_file{};                           // PEM: the key of this CA.
  leader::Options lease{};                      // `identity` is ignored: the controller makes its own.
  kube::ApiOptions api{};                       // The options of each client of the API server.
  AdminOptions admin{};
  ConsoleOptions console{};
  ConsoleServiceOptions console_service{};
  signals::PrometheusTrust prometheus{};
};

class Controller {
 public:
  virtual ~Controller() = default;

  // Blocks until Stop. Returns an error if the nodes of a host had to be stopped and did not stop in time.
  virtual Status Run() = 0;
  // May be called on any thread.
  virtual void Stop() = 0;
};

// Returns FailedPrecondition if another controller uses the state directory or the directory of manifests.
Result<std::unique_ptr<Controller>> StartOnHost(const HostOptions& options);
// Serves health and metrics immediately; Run connects to the API server, and retries until it succeeds. An error names
// the wrong option.
Result<std::unique_ptr<Controller>> StartInCluster(const ClusterOptions& options);

// Ends all nodes of a state directory, and writes to the objects of its directory of manifests that they do not serve:
// before the nodes end and afterwards. Returns what it has done, as a sentence. `manifests`: "" is the directory of the
// last controller that used the state directory. Returns NotFound if a directory does not exist, and FailedPrecondition
// if a controller uses the state directory or the manifests belong to another one.
Result<std::string> StopFleets(const Path& state_dir, const Path& manifests, const Clock& clock);

}  // namespace longshore::app
