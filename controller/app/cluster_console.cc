#include "controller/app/cluster_console.h"

#include <fmt/format.h>

#include "common/os/log.h"
#include "controller/leader/presence.h"

namespace longshore::app {
namespace {

std::string HowToSignIn(const std::string& audience) {
  return fmt::format("Make a token: kubectl create token SERVICE_ACCOUNT --namespace NAMESPACE --audience {}.",
                     audience);
}

console::Options OptionsFor(const ClusterOptions& options, const std::shared_ptr<tls::Identities>& tls,
                            console::Identify identify) {
  console::Options console;
  console.doors = {{.address = options.console.address}};
  if (!options.console_service.address.empty()) {
    console.doors.push_back({.address = options.console_service.address, .tls = tls, .reading_needs_token = true});
  }
  console.allowed_hosts = options.console.allowed_hosts;
  console.version = LONGSHORE_VERSION;
  console.access.how_to_sign_in = HowToSignIn(options.console_service.audience);
  if (!options.console_service.subjects.empty()) console.access.identify = std::move(identify);
  return console;
}

}  // namespace

ClusterConsole::ClusterConsole(const ClusterOptions& options, const ClusterConsoleContext& context)
    : context_(context), service_(options.console_service), store_(context.store) {
  if (options.console.address.empty()) return;
  auto started = console::Console::Start(
      OptionsFor(options, context.tls, [this](std::string_view authorization) { return Identify(authorization); }),
      {.store = store_,
       .nodes = nodes_,
       .clock = context.clock,
       .timer = context.timer,
       .problem = [] { return std::string(); },
       .standby = [this] { return Standby(); }});
  if (!started) {
    spdlog::error("the web console is off: {}", started.error().message);
    return;
  }
  console_ = std::move(*started);
  spdlog::info("the web console listens on port {} of {}", console_->port(), options.console.address);
}

Json ClusterConsole::ports() const {
  Json ports = Json::object();
  if (console_ == nullptr) return ports;
  ports["console"] = console_->port();
  if (!service_.address.empty()) ports["consoleService"] = console_->port(1);
  return ports;
}

Result<console::Person> ClusterConsole::Identify(std::string_view authorization) const {
  ASSIGN_OR_RETURN(const Json claims,
                   context_.issuer.Verify(authorization, service_.audience, kube::Issuer::Accepted::kItsName));
  return console::PersonOf(claims, service_.subjects);
}

std::string ClusterConsole::Standby() const {
  if (nodes_.IsSet()) return "";
  const std::string leader = leader::HostOfHolder(context_.holder());
  if (leader.empty()) return "This controller is on standby, and no other one leads at the moment.";
  return fmt::format("This controller is on standby. The controller that leads runs in pod {}.", leader);
}

}  // namespace longshore::app
