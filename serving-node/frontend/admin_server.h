// Serves health, metrics and the node's internal state on a separate listener, which clients of the models cannot
// reach.
//
//   GET /livez                 200 while the node's main loop runs; 503 if it has not called Beat for ten seconds.
//   GET /readyz                200 if all wanted models are available and the node does not drain; 503 with reasons.
//   GET /metrics               Prometheus text.
//   GET /debug/state           JSON.
//   GET /debug/log_level       The log level.
//   POST /debug/log_level      Sets it: curl -d debug http://localhost:8502/debug/log_level
//   POST /debug/profile        Begins to record the next runs and returns the progress; 409 during another recording.
//   GET /debug/profile         The runs recorded so far, as a trace; 404 if there were no recordings.
//   GET /debug/profile/state   The progress of the recording, JSON.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/json/json.h"
#include "common/net/auth/tokens.h"

namespace longshore::frontend {

// The functions behind /debug/profile. Of their errors, InvalidArgument becomes the HTTP status 400, NotFound 404, and
// FailedPrecondition 409.
struct ProfileSources {
  std::function<Status(const std::string& wanted)> start;
  std::function<Result<Json>()> state;
  std::function<Result<std::string>()> trace;
};

// What the server reports. Its functions are called on the server's threads, possibly concurrently, and must not block.
struct AdminSources {
  // Checks the token of requests to all paths except /livez and /readyz; POST needs the scope kAdmin. Null: no
  // authentication.
  std::shared_ptr<const auth::Gate> gate = {};
  std::function<std::vector<std::string>()> missing;  // The reasons why the node is not ready. None: it is ready.
  std::function<std::string()> metrics;
  std::function<Json()> state;
  ProfileSources profile = {};
};

class AdminServer {
 public:
  // Returns FailedPrecondition, which names the address, if the address is in use.
  static Result<std::unique_ptr<AdminServer>> Start(const std::string& address, AdminSources sources);
  virtual ~AdminServer() = default;

  virtual int port() const = 0;
  // Tells /livez that the main loop runs. Call it regularly from the main loop; it may be called on any thread.
  virtual void Beat() = 0;
};

}  // namespace longshore::frontend
