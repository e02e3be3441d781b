// The controller's /livez, /readyz and /metrics.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/error.h"
#include "common/http/server.h"
#include "common/metrics/metrics.h"
#include "controller/app/controller.h"

namespace longshore::app {

class Admin {
 public:
  // The registry shows the process too from now on. `not_ready`: why it is not; "" when it is. Called on any thread, as
  // is the registry.
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

}  // namespace longshore::app
