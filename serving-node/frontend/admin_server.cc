#include "serving-node/frontend/admin_server.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <string_view>

#include "common/net/http/server.h"
#include "common/os/log.h"

namespace longshore::frontend {
namespace {

using std::chrono::steady_clock;

constexpr auto kBeatAgeMax = std::chrono::seconds(10);
constexpr size_t kBodyBytesMax = 1024;  // Enough for a log level or the parameters of a profile.

constexpr std::string_view kLevelPath = "/debug/log_level";
constexpr std::string_view kProfilePath = "/debug/profile";
constexpr std::string_view kProfileStatePath = "/debug/profile/state";

http::Response Text(int status, std::string body) {
  return {.status = status, .content_type = "text/plain", .body = std::move(body)};
}

http::Response ToText(const Error& error) {
  const int status = error.code == Code::kInvalidArgument      ? 400
                     : error.code == Code::kNotFound           ? 404
                     : error.code == Code::kFailedPrecondition ? 409
                                                               : 500;
  return Text(status, error.message + "\n");
}

http::Response ToText(const Json& json) {
  return {.body = json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n"};
}

class Admin final : public AdminServer {
 public:
  explicit Admin(AdminSources sources) : sources_(std::move(sources)) { Beat(); }

  Status Listen(const std::string& address) {
    http::Options options{.address = address, .body_bytes_max = kBodyBytesMax, .inflated_bytes_max = kBodyBytesMax};
    // Two threads, so that probes do not wait while a trace is written: the largest trace, of 40 MB, takes half a
    // second.
    options.threads = 2;
    options.admit = [this](const http::Request& head) { return Refusal(head); };
    ASSIGN_OR_RETURN(server_, http::Server::Start(std::move(options),
                                                  [this](const http::Request& request, const http::Responder& respond) {
                                                    respond(Answer(request));
                                                  }));
    return {};
  }

  int port() const override { return server_->port(); }
  void Beat() override { beat_at_ = steady_clock::now(); }

 private:
  // Returns the answer to a request that is refused. Called before the body is read.
  std::optional<http::Response> Refusal(const http::Request& head) const {
    const bool may_post = (head.target == kLevelPath || head.target == kProfilePath) && head.method == "POST";
    if (head.method != "GET" && head.method != "HEAD" && !may_post) {
      return Text(405, "the only methods are GET, and POST for /debug/log_level and /debug/profile\n");
    }
    if (!sources_.gate || head.target == "/livez" || head.target == "/readyz") return std::nullopt;
    const auth::Scope needed = may_post ? auth::Scope::kAdmin : auth::Scope::kPredict;
    const Status admitted = sources_.gate->Admit(head.Header("authorization"), needed);
    if (admitted) return std::nullopt;
    if (admitted.error().code == Code::kPermissionDenied) return Text(403, admitted.error().message + "\n");
    return Unauthorized(admitted.error());
  }

  http::Response Answer(const http::Request& request) const {
    if (request.target == "/livez") return Live();
    if (request.target == "/readyz") return Ready();
    if (request.target == "/metrics") {
      return {.content_type = "text/plain; version=0.0.4", .body = sources_.metrics()};
    }
    if (request.target == "/debug/state") return ToText(sources_.state());
    if (request.target == kLevelPath) return Level(request);
    if (request.target == kProfilePath && request.method == "POST") return StartProfile(request);
    if (request.target == kProfilePath) return Trace();
    if (request.target == kProfileStatePath) return ProfileState();
    return Text(
        404,
        "the paths are /livez /readyz /metrics /debug/state /debug/log_level /debug/profile /debug/profile/state\n");
  }

  http::Response StartProfile(const http::Request& request) const {
    if (const Status started = sources_.profile.start(request.body); !started) return ToText(started.error());
    return ProfileState();
  }

  http::Response ProfileState() const {
    const auto state = sources_.profile.state();
    return state ? ToText(*state) : ToText(state.error());
  }

  http::Response Trace() const {
    auto trace = sources_.profile.trace();
    return trace ? http::Response{.body = std::move(*trace)} : ToText(trace.error());
  }

  static http::Response Level(const http::Request& request) {
    if (request.method == "POST") {
      const std::string level = request.body.substr(0, request.body.find_last_not_of(" \r\n") + 1);
      if (const Status set = SetLogLevel(level); !set) return Text(400, set.error().message + "\n");
      spdlog::log(spdlog::default_logger_raw()->level(), "the log level is now {}", LogLevel());
    }
    return Text(200, LogLevel() + "\n");
  }

  static http::Response Unauthorized(const Error& error) {
    http::Response response = Text(401, error.message + "\n");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }

  http::Response Live() const {
    const auto age = steady_clock::now() - beat_at_.load();
    if (age <= kBeatAgeMax) return Text(200, "ok\n");
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
    return Text(503, fmt::format("the main loop has not run for {} s\n", seconds));
  }

  http::Response Ready() const {
    const auto missing = sources_.missing();
    if (missing.empty()) return Text(200, "ok\n");
    std::string body;
    for (const std::string& each : missing) body += each + "\n";
    return Text(503, body);
  }

  const AdminSources sources_;
  std::atomic<steady_clock::time_point> beat_at_;
  std::unique_ptr<http::Server> server_;  // Last member, because its threads use the others.
};

}  // namespace

Result<std::unique_ptr<AdminServer>> AdminServer::Start(const std::string& address, AdminSources sources) {
  auto admin = std::make_unique<Admin>(std::move(sources));
  RETURN_IF_ERROR(admin->Listen(address));
  return admin;
}

}  // namespace longshore::frontend
