// The controller, put together: the only place that names concrete stores, fleets and sources.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/file.h"

namespace longshore::app {

struct Options {
  Path state_dir{};
  Path manifests{};
  Path node_binary{};
  std::string host = "127.0.0.1";  // Where fleets listen for clients.
  std::string node_log_level = "info";
  std::vector<std::string> node_environment{};  // "NAME=value", all that nodes get.
  std::vector<std::string> node_flags{};        // "NAME=value" or "NAME"; "{node}" in it is the node's name.
  std::string admin_address = "127.0.0.1:8600";
  Path port_file{};  // Told the administration port, when not empty.
  bool stop_nodes_on_exit = false;
};

class Controller {
 public:
  // FailedPrecondition when another controller uses the state directory.
  static Result<std::unique_ptr<Controller>> Start(const Options& options);
  virtual ~Controller() = default;

  // Works until Stop. An error when the nodes were to be stopped and did not stop in time.
  virtual Status Run() = 0;
  // Any thread.
  virtual void Stop() = 0;
};

// Stops all nodes of a state directory that no controller uses.
Status StopFleets(const Path& state_dir);

}  // namespace longshore::app
