// Who may talk to this node and how: what the flags say, opened once and shared by all listeners.
#pragma once

#include <memory>

#include "common/auth/tokens.h"
#include "common/error.h"
#include "common/grpc/credentials.h"
#include "common/tls/identity.h"
#include "serving-node/app/flags.h"

namespace longshore::app {

struct Security {
  std::shared_ptr<tls::Identities> grpc_tls;  // Null: plaintext.
  std::shared_ptr<tls::Identities> rest_tls;
  std::shared_ptr<const auth::Gate> gate;                   // Of clients and administration. Null: open.
  std::shared_ptr<const auth::Gate> peer_gate;              // Of other nodes.
  std::shared_ptr<auth::Authorization> peer_authorization;  // What this node shows to them. Null: nothing.
};

// Errors name the flag and the file. Warns of tokens that would travel in plain text to another machine.
Result<Security> OpenSecurity(const Flags& flags);

// The gate as gRPC asks it: health may always be asked. Empty for null.
rpc::CallGate ToCallGate(std::shared_ptr<const auth::Gate> gate);

}  // namespace longshore::app
