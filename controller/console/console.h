// The web console: pages that show Models, fleets and nodes, and the JSON that they read. It changes nothing itself: it
// passes the commands of people to the controller.
//
//   browser -> requests.h -> views.h <- snapshot.h <- store and manifest files
//              access.h        ^    ^
//              commands.h      |    |
//              -> store        |    |
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
#include "controller/console/access.h"
#include "controller/console/commands.h"
#include "controller/console/history.h"
#include "controller/console/requests.h"
#include "controller/console/sampler.h"
#include "controller/console/snapshot.h"
#include "controller/console/views.h"
#include "controller/nodes/nodes.h"
#include "controller/store/store.h"

namespace longshore::console {

// A listener of the console.
struct Door {
  std::string address = "127.0.0.1:0";     // "host:port"
  std::shared_ptr<tls::Identities> tls{};  // Null: plaintext.
  bool reading_needs_token = false;
};

struct Options {
  std::vector<Door> doors{{}};
  std::set<std::string> allowed_hosts{};  // Host names in lower case under which people open the console.
  std::string version{};                  // The version of the program.
  Access access{};
  std::chrono::milliseconds sample_interval = kSampleInterval;
};

// All references must outlive the console. Thread-safe.
struct Sources {
  store::Store& store;
  const nodes::Views& nodes;
  const Clock& clock;
  const MonotonicClock& timer;
  std::function<std::string()> problem;  // Why the controller does not reconcile; "" if it does.
  Path manifests{};                      // The directory of manifest files; "" on a cluster.
  // Why another controller must be asked; "" if this one leads. Empty: this one always leads.
  std::function<std::string()> standby{};
};

class Console {
 public:
  // Returns FailedPrecondition if an address is in use.
  static Result<std::unique_ptr<Console>> Start(const Options& options, const Sources& sources);

  int port(size_t door = 0) const { return servers_[door]->port(); }

 private:
  Console(const Options& options, const Sources& sources);
  Status Open(const Door& door);
  void Handle(const http::Request& request, const Policy& policy, const http::Responder& respond);
  http::Response Respond(const http::Request& request, const Target& target, const Policy& policy) const;
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
  Commands commands_;
  // Last, so that they end first: they use the other members.
  std::vector<std::unique_ptr<http::Server>> servers_;  // One for each door.
  std::unique_ptr<Ticker> ticker_;
};

}  // namespace longshore::console
