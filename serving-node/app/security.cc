#include "serving-node/app/security.h"

#include <string_view>

#include "common/base/clock.h"
#include "common/net/auth/jwt_verifier.h"
#include "common/os/log.h"
#include "serving-node/frontend/scopes.h"

namespace longshore::app {
namespace {

constexpr std::string_view kHealth = "/grpc.health.v1.Health/";

bool IsThisMachine(const std::string& host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

void WarnOfPlainTokens(const flags::Flags& flags) {
  const bool plain_grpc = flags.port != flags::kPortOff && !flags.tls.grpc();
  const bool plain_rest = flags.rest_api_port != flags::kPortOff && !flags.tls.rest();
  if (flags.auth.identifying_flag() == nullptr || IsThisMachine(flags.host) || (!plain_grpc && !plain_rest)) return;
  spdlog::warn("{} without TLS for {} on {}: tokens are sent in plain text", flags.auth.identifying_flag(),
               plain_grpc && plain_rest ? "gRPC and REST"
               : plain_grpc             ? "gRPC"
                                        : "REST",
               flags.host);
}

// A JSON Web Token of a client gives no access to the admin port.
Status OpenGates(const flags::AuthFlags& flags, Security& security) {
  std::shared_ptr<const Reloaded<auth::Tokens>> tokens;
  if (!flags.auth_tokens_file.empty()) {
    ASSIGN_OR_RETURN(tokens, auth::OpenTokens("--auth_tokens_file", flags.auth_tokens_file));
    security.gate = security.client_gate = std::make_shared<const auth::Gate>(tokens);
  }
  if (flags.jwt_jwks_file.empty()) return {};
  ASSIGN_OR_RETURN(auto jwts, auth::JwtVerifier::Open("--jwt_jwks_file", flags.jwt_jwks_file,
                                                      {.audience = flags.jwt_audience, .issuer = flags.jwt_issuer},
                                                      std::make_shared<const SystemClock>()));
  security.client_gate = std::make_shared<const auth::Gate>(std::move(tokens), std::move(jwts));
  return {};
}

}  // namespace

Result<Security> OpenSecurity(const flags::Flags& flags) {
  Security security;
  ASSIGN_OR_RETURN(security.grpc_tls, flags.tls.Open());
  if (flags.tls.rest()) security.rest_tls = security.grpc_tls;
  RETURN_IF_ERROR(OpenGates(flags.auth, security));
  if (const Path& file = flags.auth.peer_tokens_file; !file.empty()) {
    ASSIGN_OR_RETURN(auto tokens, auth::OpenTokens("--peer_tokens_file", file));
    security.peer_gate = std::make_shared<const auth::Gate>(std::move(tokens));
    ASSIGN_OR_RETURN(security.peer_authorization, auth::OpenAuthorization("--peer_tokens_file", file));
  }
  WarnOfPlainTokens(flags);
  return security;
}

grpc_server::Gate ToCallGate(std::shared_ptr<const auth::Gate> gate) {
  if (!gate) return {};
  return [gate = std::move(gate)](const grpc_server::CallHead& head) -> Status {
    if (head.path.starts_with(kHealth)) return {};
    return gate->Admit(head.authorization, frontend::ScopeOfMethod(head.path));
  };
}

}  // namespace longshore::app
