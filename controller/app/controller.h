// The controller, put together: the only folder that names concrete stores, fleets and sources.
//
// Two homes: one host, where it starts the nodes itself, and a cluster, where Kubernetes does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/file.h"
#include "controller/kube/api.h"
#include "controller/leader/election.h"
#include "controller/metrics/metrics.h"

namespace longshore::app {

// Where health and metrics are asked for.
struct AdminOptions {
  std::string address = "127.0.0.1:8600";
  Path port_file{};  // Told the port in use, when not empty: {"admin": N}.
};

struct HostOptions {
  Path state_dir{};
  Path manifests{};
  Path node_binary{};
  std::string host = "127.0.0.1";  // Where fleets listen for clients.
  std::string node_log_level = "info";
  std::vector<std::string> node_environment{};  // "NAME=value", all that nodes get.
  std::vector<std::string> node_flags{};        // "NAME=value" or "NAME"; "{node}" in it is the node's name.
  AdminOptions admin{};
  metrics::PrometheusTrust prometheus{};
  bool stop_nodes_on_exit = false;
};

struct ClusterOptions {
  Path kubeconfig{};                            // "": we are a pod.
  std::string context{};                        // Of the kubeconfig; "": its current one.
  std::string namespace_{};                     // Of the Lease; "": the pod's or the context's.
  std::vector<std::string> watch_namespaces{};  // Empty: all.
  std::string node_image{};                     // Of fleets that name none.
  std::string node_address = "0.0.0.0:8610";    // Where nodes are listened for, by whoever leads.
  std::string advertised_address{};             // What nodes dial: "dns:///HOST:PORT".
  Path ca_cert_file{};                          // PEM: who signs what nodes trust, and
  Path ca_key_file{};                           // its key.
  leader::Options lease{};                      // The identity is made here.
  kube::ApiOptions api{};                       // Of each client of the API server.
  AdminOptions admin{};
  metrics::PrometheusTrust prometheus{};
};

class Controller {
 public:
  virtual ~Controller() = default;

  // Works until Stop. An error when the nodes of a host were to be stopped and did not stop in time.
  virtual Status Run() = 0;
  // Any thread.
  virtual void Stop() = 0;
};

// FailedPrecondition when another controller uses the state directory or the directory of manifests.
Result<std::unique_ptr<Controller>> StartOnHost(const HostOptions& options);
// Answers for its health at once; Run connects, and tries again as long as the API server is not there. Errors name
// what of the options is wrong.
Result<std::unique_ptr<Controller>> StartInCluster(const ClusterOptions& options);

// Stops all nodes of a state directory that no controller uses.
Status StopFleets(const Path& state_dir);

}  // namespace longshore::app
