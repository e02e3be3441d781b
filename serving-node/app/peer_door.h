// Where the other nodes of the fleet come in.
//
// On one host: a unix socket, open from the start. In a cluster: a port that only nodes of the same fleet can speak to,
// by certificates of both ends; it opens when this node has its own.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "serving-node/app/flags.h"
#include "serving-node/app/parts.h"
#include "serving-node/app/security.h"
#include "serving-node/frontend/grpc_server.h"
#include "serving-node/routing/peer_service.h"

namespace longshore::app {

// Belongs to the main loop's thread, but for what says otherwise.
class PeerDoor {
 public:
  // The parts outlive it. Where there is no --peer_address it never opens.
  PeerDoor(const Flags& flags, Parts& parts, Security security, routing::PeerService::GetStateFunction state);

  // Opens it when it can be opened and is not yet: true. Errors name the address.
  Result<bool> OpenIfPossible();

  // Where others reach it: a gRPC target; "" as long as it is closed. Any thread.
  std::string address() const;

  // Accepts no more, and returns when no connection is left. Any thread, the main loop rests.
  void Drain();

 private:
  Result<rpc::CredentialsOptions> Credentials() const;

  const Flags& flags_;
  Parts& parts_;
  const Security security_;
  routing::PeerService service_;
  std::unique_ptr<frontend::GrpcServer> server_;
  mutable std::mutex mutex_;
  std::string address_;  // Guarded by the mutex.
};

}  // namespace longshore::app
