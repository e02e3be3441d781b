// The state of one request while the node handles it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serving-node/routing/predict.h"
#include "serving-node/routing/table.h"

namespace longshore::routing {

// Not thread-safe: only the thread that currently handles the request may use it.
struct Request {
  PredictCall call;
  PredictDone done;
  int priority = 0;
  std::shared_ptr<const RoutingTable> table;  // Null on a standalone node, and on a managed node without a state.
  const ModelRoutes* model = nullptr;         // Points into `table`.
  Choice choice;
  bool died_once = false;           // The connection to a peer broke while the peer had the request.
  std::vector<std::string> tried;   // Addresses of the peers to which the request was forwarded.
  std::shared_ptr<void> under_way;  // Its destruction tells the router that the request is finished.

  const std::string& model_name() const { return call.request.model_spec().name(); }
};
using RequestPtr = std::shared_ptr<Request>;

}  // namespace longshore::routing
