#include "controller/app/admin.h"

#include "common/json/json.h"
#include "common/metrics/process.h"
#include "common/os/file.h"

namespace longshore::app {

Result<std::unique_ptr<Admin>> Admin::Start(const AdminOptions& options, metrics::Registry& metrics,
                                            std::function<std::string()> not_ready) {
  metrics::AddProcessMetrics(SystemClock().Now(), LONGSHORE_VERSION, metrics);
  std::unique_ptr<Admin> admin(new Admin(metrics, std::move(not_ready)));
  http::Options http_options;
  http_options.address = options.address;
  // Two threads, so that a probe need not wait for /metrics, which takes a second with very many objects.
  http_options.threads = 2;
  auto server = http::Server::Start(http_options, [raw = admin.get()](http::Request request, http::Responder respond) {
    raw->Answer(request, respond);
  });
  if (!server) return Prefixed(server.error(), "--admin_port");
  admin->server_ = std::move(*server);
  return admin;
}

Status WritePorts(const Path& port_file, const Json& ports) {
  return port_file.empty() ? Status() : WriteFileAtomically(port_file, ports.dump() + "\n");
}

void Admin::Answer(const http::Request& request, const http::Responder& respond) const {
  const auto text = [&](int status, std::string body) {
    http::Response response;
    response.status = status;
    response.content_type = "text/plain";
    response.body = std::move(body);
    respond(std::move(response));
  };
  if (request.target == "/livez") return text(200, "ok\n");
  if (request.target == "/readyz") {
    const std::string reason = not_ready_();
    return reason.empty() ? text(200, "ok\n") : text(503, reason + "\n");
  }
  if (request.target == "/metrics") return text(200, metrics_.Text());
  text(404, "not found; the paths are /livez, /readyz and /metrics\n");
}

}  // namespace longshore::app
