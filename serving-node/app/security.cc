#include "serving-node/app/security.h"

#include <string_view>

#include "common/os/log.h"

namespace longshore::app {
namespace {

constexpr std::string_view kHealth = "/grpc.health.v1.Health/";

bool IsThisMachine(const std::string& host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

void WarnOfPlainTokens(const flags::Flags& flags) {
  const bool plain_grpc = flags.port != flags::kPortOff && !flags.tls.grpc();
  const bool plain_rest = flags.rest_api_port != flags::kPortOff && !flags.tls.rest();
  if (flags.auth.auth_tokens_file.empty() || IsThisMachine(flags.host) || (!plain_grpc && !plain_rest)) return;
  spdlog::warn("--auth_tokens_file without TLS for {} on {}: tokens are sent in plain text",
               plain_grpc && plain_rest ? "gRPC and REST"
               : plain_grpc             ? "gRPC"
                                        : "REST",
               flags.host);
}

}  // namespace

Result<Security> OpenSecurity(const flags::Flags& flags) {
  Security security;
  ASSIGN_OR_RETURN(security.grpc_tls, flags.tls.Open());
  if (flags.tls.rest()) security.rest_tls = security.grpc_tls;
  if (const Path& file = flags.auth.auth_tokens_file; !file.empty()) {
    ASSIGN_OR_RETURN(security.gate, auth::Gate::Open("--auth_tokens_file", file));
  }
  if (const Path& file = flags.auth.peer_tokens_file; !file.empty()) {
    ASSIGN_OR_RETURN(security.peer_gate, auth::Gate::Open("--peer_tokens_file", file));
    ASSIGN_OR_RETURN(security.peer_authorization, auth::OpenAuthorization("--peer_tokens_file", file));
  }
  WarnOfPlainTokens(flags);
  return security;
}

rpc::CallGate ToCallGate(std::shared_ptr<const auth::Gate> gate) {
  if (!gate) return {};
  return [gate = std::move(gate)](const rpc::CallHead& head) -> Status {
    if (head.path.starts_with(kHealth)) return {};
    return gate->Admit(head.authorization);
  };
}

}  // namespace longshore::app
