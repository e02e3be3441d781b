// Health, metrics and the node's inner state, on a listener of their own that clients of the models do not reach.
//
//   GET /livez          200 while the node's main loop turns; 503 when it did not beat for ten seconds.
//   GET /readyz         200 when everything that is wanted can answer and the node does not leave; 503 and why, line by
//   line.
//   GET /metrics        Prometheus text.
//   GET /debug/state    JSON.
//   GET /debug/log_level   The level; POST sets it from now on: curl -d debug http://localhost:8502/debug/log_level
//   POST /debug/profile        Begins to record the next runs; says how far it is. 409 while another recording is under
//   way.
//   GET /debug/profile         What was recorded, by now, as a trace. 404 when nothing was.
//   GET /debug/profile/state   How far it is, JSON.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/auth/tokens.h"
#include "common/error.h"
#include "common/json/json.h"

namespace longshore::frontend {

// Errors: InvalidArgument is 400, NotFound 404, FailedPrecondition 409.
struct ProfileSources {
  std::function<Status(const std::string& wanted)> start;
  std::function<Result<Json>()> state;
  std::function<Result<std::string>()> trace;
};

// Called on the server's threads, at once too; must not block.
struct AdminSources {
  std::shared_ptr<const auth::Gate> gate = {};        // Of all but /livez and /readyz. Null: open.
  std::function<std::vector<std::string>()> missing;  // Why the node is not ready; empty: it is.
  std::function<std::string()> metrics;
  std::function<Json()> state;
  ProfileSources profile = {};
};

class AdminServer {
 public:
  // FailedPrecondition naming the address when it is in use.
  static Result<std::unique_ptr<AdminServer>> Start(const std::string& address, AdminSources sources);
  virtual ~AdminServer() = default;

  virtual int port() const = 0;
  // The main loop turns. Any thread.
  virtual void Beat() = 0;
};

}  // namespace longshore::frontend
