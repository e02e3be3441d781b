#include "serving-node/app/flags/auth_flags.h"

#include <CLI/CLI.hpp>

namespace longshore::app::flags {

void AuthFlags::AddTo(CLI::App& app) {
  const std::string group = "Tokens";
  app.add_option(
         "--auth_tokens_file", auth_tokens_file,
         "lines of NAME TOKEN: only calls with one of these bearer tokens are answered, on gRPC, REST, /metrics "
         "and /debug; health stays open. Read again when it changes")
      ->group(group);
  app.add_option("--peer_tokens_file", peer_tokens_file,
                 "the same for calls between the nodes of a fleet: the first token is sent, all are accepted")
      ->group(group);
}

Status AuthFlags::Check(bool peers) const {
  if (!peers && !peer_tokens_file.empty()) return InvalidArgument("--peer_tokens_file needs --peer_address");
  if (peers && !auth_tokens_file.empty() && peer_tokens_file.empty()) {
    return InvalidArgument(
        "--auth_tokens_file needs --peer_tokens_file on a node with --peer_address: otherwise the requests of its "
        "peers "
        "would be accepted without a token");
  }
  return {};
}

}  // namespace longshore::app::flags
