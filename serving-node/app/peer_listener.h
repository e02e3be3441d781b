// The listener for the other nodes of the fleet.
//
// On one host it is a unix socket that opens at the start. In a cluster it is a port with mutual TLS that accepts only
// nodes of the same fleet; it opens when this node has its certificate.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "serving-node/app/components.h"
#include "serving-node/app/flags/flags.h"
#include "serving-node/app/security.h"
#include "serving-node/frontend/grpc_server.h"
#include "serving-node/routing/peer_service.h"

namespace longshore::app {

// Only the main loop's thread may use it, except where a function says otherwise.
class PeerListener {
 public:
  // The components must outlive this object. Without --peer_address, the listener never opens.
  PeerListener(const flags::Flags& flags, Components& components, Security security,
               routing::PeerService::GetStateFunction state);

  // Opens the listener if it is closed and can be opened; returns true if it did. Errors name the address.
  Result<bool> OpenIfPossible();

  // Returns the gRPC target under which other nodes reach this one; "" while the listener is closed. May be called on
  // any thread.
  std::string address() const;

  // Accepts no further connections and returns when none is left. May run on any thread; meanwhile the main loop must
  // not call other functions of this object.
  void Drain();

 private:
  Status Secure(frontend::GrpcOptions* options) const;  // Sets TLS and the gate.

  const flags::Flags& flags_;
  Components& components_;
  const Security security_;
  routing::PeerService service_;
  std::unique_ptr<frontend::GrpcServer> server_;
  mutable std::mutex mutex_;
  std::string address_;  // Guarded by the mutex.
};

}  // namespace longshore::app
