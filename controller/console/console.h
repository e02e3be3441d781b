// The web console: pages that show Models, fleets and nodes, and the JSON that they read. It changes nothing.
//
//   browser -> requests.h -> views.h <- snapshot.h <- store and manifest files
//                              ^    ^
//   nodes -> sampler.h -> history.h  nodes
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/path.h"
#include "common/json/json.h"
#include "common/net/http/server.h"
#include "common/os/ticker.h"
#include "controller/console/history.h"
#include "controller/console/requests.h"
#include "controller/console/sampler.h"
#include "controller/console/snapshot.h"
#include "controller/console/views.h"
#include "controller/nodes/nodes.h"
#include "controller/store/store.h"

namespace longshore::console {

struct Options {
  std::string address = "127.0.0.1:0";    // "host:port"
  std::set<std::string> allowed_hosts{};  // Host names in lower case under which people open the console.
  std::string version{};                  // The version of the program.
  std::chrono::milliseconds sample_interval = kSampleInterval;
};

// All references must outlive the console. Thread-safe.
struct Sources {
  store::Store& store;
  nodes::Registry& nodes;
  const Clock& clock;
  const MonotonicClock& timer;
  std::function<std::string()> problem;  // Why the controller does not reconcile; "" if it does.
  Path manifests{};                      // The directory of manifest files; "" on a cluster.
};

class Console {
 public:
  // Returns FailedPrecondition if the address is in use.
  static Result<std::unique_ptr<Console>> Start(const Options& options, const Sources& sources);

  int port() const { return server_->port(); }

 private:
  Console(const Options& options, const Sources& sources);
  http::Response Respond(const http::Request& request) const;
  Result<Json> Read(const Target& target) const;
  Result<Json> ReadObjects(const Target& target) const;
  Json ReadHistory(const Target& target) const;
  void Sample();

  const Options options_;
  const Sources sources_;
  mutable SnapshotCache snapshots_;
  Sampler sampler_;  // Used only by the ticker.
  mutable std::mutex mutex_;
  History history_;  // Guarded by the mutex.
  // Last, so that they end first: they use the other members.
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<Ticker> ticker_;
};

}  // namespace longshore::console
