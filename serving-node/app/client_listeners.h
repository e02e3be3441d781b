// The gRPC and REST listeners for clients, on sockets that the node may share with other nodes.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "common/base/error.h"
#include "common/node_contract/connection_choice.h"
#include "serving-node/app/components.h"
#include "serving-node/app/flags/flags.h"
#include "serving-node/app/listeners.h"
#include "serving-node/app/security.h"
#include "serving-node/frontend/grpc_server.h"
#include "serving-node/frontend/rest_server.h"

namespace longshore::app {

// Returns the options that the flags set for the gRPC listener of this protocol, which is for clients or for peers.
frontend::GrpcOptions GrpcOptionsOf(const flags::Flags& flags, routing::Protocol protocol);

// Only the main loop's thread may use it, except where a function says otherwise.
class ClientListeners {
 public:
  // The components must outlive this object. No connection is accepted before Open.
  ClientListeners(const flags::Flags& flags, Components& components, Security security, ListeningSockets sockets);
  // Waits until the retired servers have no connections; then closes the connections of the current servers.
  ~ClientListeners();

  // Opens both listeners, or neither if one fails.
  Status Open(int64_t connection_age_max_ms);
  bool open() const { return open_; }  // May be called on any thread.

  // Sets the maximum age of new connections: starts new servers and retires the old ones. The old servers ask their
  // clients to reconnect: gRPC clients when a connection reaches the previous maximum age, REST clients with
  // the next answer. No request is aborted. Does nothing
  // while an earlier change is still in progress; call it again later. A failure is logged and changes nothing.
  void SetConnectionAge(int64_t connection_age_max_ms);

  // Asks the clients of some connections to connect again, so that they may reach another node
  // (common/node_contract/connection_choice.h). A connection ends only after its requests. Returns how many were asked.
  size_t MoveConnections(const node_contract::ConnectionLimits& limits) const;

  void SetServing(bool serving);
  size_t connections() const;
  const ListeningSockets& sockets() const { return sockets_; }

  // Accepts no further connections, asks all clients to connect elsewhere, answers the requests in flight, and returns
  // when no connection is left. gRPC clients are asked over two seconds, or a quarter of `time_max_ms` if that is less
  // and not 0, so that they do not all connect at the same moment. May run on any thread; meanwhile the main loop must
  // not call other functions of this object, except connections and EndConnectionsAtOnce.
  void Drain(int64_t time_max_ms);
  // Makes a Drain that is running ask all clients at once.
  void EndConnectionsAtOnce() { EndConnectionsWithin(std::chrono::milliseconds(0)); }

 private:
  struct Servers {
    std::unique_ptr<frontend::GrpcServer> grpc;
    std::unique_ptr<frontend::RestServer> rest;
    int64_t connection_age_max_ms = 0;

    void Drain();
    size_t connections() const;
  };
  Result<Servers> Start(int64_t connection_age_max_ms) const;
  void EndConnectionsWithin(std::chrono::milliseconds spread);
  void Retire(Servers servers);  // Drains them in the background. Requires: !retiring_.

  const flags::Flags& flags_;
  Components& components_;
  const Security security_;
  ListeningSockets sockets_;  // The servers listen on copies, so that a later server can use the same sockets.
  std::atomic<bool> open_ = false;
  bool serving_ = false;
  Servers servers_;
  Servers retired_;  // Replaced servers; they serve until their connections have ended.
  std::atomic<bool> retiring_ = false;
  std::thread retire_;
};

}  // namespace longshore::app
