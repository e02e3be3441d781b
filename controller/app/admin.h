// The controller's HTTP endpoints /livez, /readyz and /metrics.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/json/json.h"
#include "common/metrics/metrics.h"
#include "common/net/http/server.h"
#include "controller/app/controller.h"

namespace longshore::app {

class Admin {
 public:
  // Starts the server, and adds the metrics of the process to the registry. `not_ready` returns why the controller is
  // not ready, or "" if it is. `not_ready` and the registry are used on any thread.
  static Result<std::unique_ptr<Admin>> Start(const AdminOptions& options, metrics::Registry& metrics,
                                              std::function<std::string()> not_ready);
  int port() const { return server_->port(); }

 private:
  Admin(const metrics::Registry& metrics, std::function<std::string()> not_ready)
      : metrics_(metrics), not_ready_(std::move(not_ready)) {}
  void Answer(const http::Request& request, const http::Responder& respond) const;

  const metrics::Registry& metrics_;
  const std::function<std::string()> not_ready_;
  std::unique_ptr<http::Server> server_;
};

// Writes the ports in use, such as {"admin": N}, unless the path is empty.
Status WritePorts(const Path& port_file, const Json& ports);

}  // namespace longshore::app
