#include "serving-node/app/flags/auth_flags.h"

#include <CLI/CLI.hpp>

namespace longshore::app::flags {

void AuthFlags::AddTo(CLI::App& app) {
  const std::string group = "Tokens";
  app.add_option(
         "--auth_tokens_file", auth_tokens_file,
         "file with lines \"NAME TOKEN\": gRPC, REST, /metrics and /debug answer only calls with one of these bearer "
         "tokens; health checks need none. The file is read again when it changes")
      ->group(group);
  app.add_option("--peer_tokens_file", peer_tokens_file,
                 "file with lines \"NAME TOKEN\" for calls between the nodes of a fleet: this node sends the first "
                 "token, and accepts "
                 "all tokens of the file")
      ->group(group);
  app.add_option("--jwt_jwks_file", jwt_jwks_file,
                 "JSON Web Key Set with the keys (RS256, ES256, EdDSA) of the issuer of clients' JSON Web Tokens: a "
                 "bearer token of this form must be valid, and match rules can compare its claims. The file is read "
                 "again when it changes")
      ->group(group);
  app.add_option("--jwt_issuer", jwt_issuer, "the claim iss of valid JSON Web Tokens")->group(group);
  app.add_option("--jwt_audience", jwt_audience, "a value of the claim aud of valid JSON Web Tokens")->group(group);
}

const char* AuthFlags::identifying_flag() const {
  if (!auth_tokens_file.empty()) return "--auth_tokens_file";
  return jwt_jwks_file.empty() ? nullptr : "--jwt_jwks_file";
}

Status AuthFlags::Check(bool peers) const {
  if (!peers && !peer_tokens_file.empty()) return InvalidArgument("--peer_tokens_file needs --peer_address");
  const bool jwts = !jwt_jwks_file.empty();
  if (jwts == jwt_issuer.empty() || jwts == jwt_audience.empty())
    return InvalidArgument("--jwt_jwks_file, --jwt_issuer and --jwt_audience need each other");
  if (peers && identifying_flag() != nullptr && peer_tokens_file.empty()) {
    return InvalidArgument(
        "{} needs --peer_tokens_file on a node with --peer_address: otherwise the node would accept requests from its "
        "peers without a token, and in the name of any client",
        identifying_flag());
  }
  return {};
}

}  // namespace longshore::app::flags
