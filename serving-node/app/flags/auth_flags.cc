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
}

Status AuthFlags::Check(bool peers) const {
  if (!peers && !peer_tokens_file.empty()) return InvalidArgument("--peer_tokens_file needs --peer_address");
  if (peers && !auth_tokens_file.empty() && peer_tokens_file.empty()) {
    return InvalidArgument(
        "--auth_tokens_file needs --peer_tokens_file on a node with --peer_address: otherwise the node would accept "
        "requests from its peers without a token");
  }
  return {};
}

}  // namespace longshore::app::flags
