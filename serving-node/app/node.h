// A complete node. This is the only place that creates the concrete classes and connects them.
//
//   ASSIGN_OR_RETURN(auto node, Node::Start(flags));
//   while (!node->left()) { node->Tick(); ...a short wait; node->Leave() on SIGTERM... }
#pragma once

#include <memory>

#include "common/base/error.h"
#include "serving-node/app/flags/flags.h"
#include "serving-node/app/listeners.h"

namespace longshore::app {

// Only one thread, the main loop's, may call Start, Tick and Leave.
class Node {
 public:
  // Binds the sockets, starts to load the models, and returns without waiting for them. Returns FailedPrecondition,
  // which names the flag and the port, if a port is in use.
  static Result<std::unique_ptr<Node>> Start(const flags::Flags& flags);
  virtual ~Node() = default;  // Closes connections that were not drained.

  // One turn of the main loop; call it several times per second. It signals to the liveness check that the loop runs,
  // opens the client listeners when the node is able to serve, and updates the health status. A managed node opens them
  // when all its models can answer, a standalone node when each model can answer or has failed to load. An error means
  // that the listeners cannot be opened; the node must end.
  virtual Status Tick() = 0;

  // Starts the shutdown and returns at once: the node is no longer ready, accepts no new connections, and waits in the
  // background until all existing connections have ended.
  virtual void Leave() = 0;

  virtual bool open() const = 0;  // Whether the client listeners are open.

  // Whether a shutdown, requested by Leave or by the controller, is complete.
  virtual bool left() const = 0;

  virtual int admin_port() const = 0;
  virtual const ListeningSockets& sockets() const = 0;
};

}  // namespace longshore::app
