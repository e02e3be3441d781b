// One request on its way through the node.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serving-node/routing/predict.h"
#include "serving-node/routing/table.h"

namespace longshore::routing {

// Belongs to whichever thread works on it at the moment.
struct Request {
  PredictCall call;
  PredictDone done;
  int priority = 0;
  std::shared_ptr<const Table> table;  // Null when the node is alone.
  const ModelRoutes* model = nullptr;  // In the table.
  Choice choice;
  bool died_once = false;           // A peer's connection broke while it had the request.
  std::vector<std::string> tried;   // Peers.
  std::shared_ptr<void> under_way;  // Tells the router when the request is gone.

  const std::string& model_name() const { return call.request.model_spec().name(); }
};
using RequestPtr = std::shared_ptr<Request>;

}  // namespace longshore::routing
