// TLS identities and bearer tokens from the flags. They are opened once and shared by all listeners.
#pragma once

#include <memory>

#include "common/base/error.h"
#include "common/net/auth/tokens.h"
#include "common/net/grpc_server/service.h"
#include "common/net/tls/identity.h"
#include "serving-node/app/flags/flags.h"

namespace longshore::app {

struct Security {
  std::shared_ptr<tls::Identities> grpc_tls;  // Null: plaintext.
  std::shared_ptr<tls::Identities> rest_tls;
  std::shared_ptr<const auth::Gate> gate;         // For the admin port. Null: no token is needed.
  std::shared_ptr<const auth::Gate> client_gate;  // For clients. Null: no token is needed.
  std::shared_ptr<const auth::Gate> peer_gate;    // For other nodes. Null: no token is needed.
  std::shared_ptr<auth::Authorization>
      peer_authorization;  // The token that this node sends to other nodes. Null: none.
};

// Reads the files of the flags. Errors name the flag and the file. Logs a warning if clients of other machines would
// send tokens in plain text.
Result<Security> OpenSecurity(const flags::Flags& flags);

// Wraps the gate for gRPC listeners. Health checks need no token. Returns an empty function if the gate is null.
grpc_server::Gate ToCallGate(std::shared_ptr<const auth::Gate> gate);

}  // namespace longshore::app
