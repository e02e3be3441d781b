// The doors of a node: its clients' gRPC and REST listeners, on sockets that it may share with other nodes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "common/error.h"
#include "serving-node/app/flags.h"
#include "serving-node/app/listeners.h"
#include "serving-node/app/parts.h"
#include "serving-node/app/security.h"
#include "serving-node/frontend/grpc_server.h"
#include "serving-node/frontend/rest_server.h"

namespace longshore::app {

// What flags say about a gRPC listener.
frontend::GrpcOptions GrpcOptionsOf(const Flags& flags, routing::Protocol protocol);

// Belongs to the main loop's thread, but for what says otherwise.
class Doors {
 public:
  // The parts outlive it. Nothing is accepted before Open.
  Doors(const Flags& flags, Parts& parts, Security security, Listeners listeners);
  ~Doors();  // Cuts what was not drained, but for connections that keep an older age.

  // Opens both, or none when one fails.
  Status Open(int64_t connection_age_max_ms);
  bool open() const { return open_; }  // Any thread.

  // For connections that come from now on. Those that are there leave in peace: by gRPC when they reach their old age,
  // by REST with their next answer. A change waits as long as the one before is under way: call it again. One that
  // fails is logged, and all stays as it is.
  void SetConnectionAge(int64_t connection_age_max_ms);

  void SetServing(bool serving);
  size_t connections() const;
  const Listeners& listeners() const { return listeners_; }

  // Accepts no more, answers what is under way, and returns when no connection is left. Any thread, the main loop
  // rests.
  void Drain();

 private:
  struct Servers {
    std::unique_ptr<frontend::GrpcServer> grpc;
    std::unique_ptr<frontend::RestServer> rest;
    int64_t connection_age_max_ms = 0;

    void Drain();
    size_t connections() const;
  };
  Result<Servers> Start(int64_t connection_age_max_ms) const;
  void Retire(Servers servers);  // Requires: nothing is retiring.

  const Flags& flags_;
  Parts& parts_;
  const Security security_;
  Listeners listeners_;  // Each server has a copy of its socket.
  std::atomic<bool> open_ = false;
  bool serving_ = false;
  Servers servers_;
  Servers retired_;  // Their connections end by their age.
  std::atomic<bool> retiring_ = false;
  std::thread retire_;
};

}  // namespace longshore::app
