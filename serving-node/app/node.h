// A whole node: the only place that names concrete classes and puts them together.
//
//   ASSIGN_OR_RETURN(auto node, Node::Start(flags));
//   while (!node->left()) { node->Tick(); ...a short wait; node->Leave() on SIGTERM... }
#pragma once

#include <memory>

#include "common/error.h"
#include "serving-node/app/flags.h"
#include "serving-node/app/listeners.h"

namespace longshore::app {

// Start, Tick and Leave belong to one thread, the main loop's.
class Node {
 public:
  // Listens, begins to load what is to be served, and returns. FailedPrecondition naming flag and port for a port in
  // use.
  static Result<std::unique_ptr<Node>> Start(const Flags& flags);
  virtual ~Node() = default;  // Cuts what was not left before.

  // Proves that the main loop turns, opens the doors (of a managed node once it can answer, of one that is alone once
  // each model can or has failed), and keeps health true. An error is the node's end: its doors cannot be opened.
  virtual Status Tick() = 0;

  // Begins to leave: not ready from now on, takes no new connection, ends when the last one is gone. Returns at once.
  virtual void Leave() = 0;

  virtual bool open() const = 0;  // Whether its doors are.

  // Whether a leave, asked for here or by the controller, has come to its end.
  virtual bool left() const = 0;

  virtual int admin_port() const = 0;
  virtual const Listeners& listeners() const = 0;
};

}  // namespace longshore::app
