// The web console of a controller on a cluster. Every replica has one, but only that of the leader has data: the others
// say which replica leads.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "common/base/clock.h"
#include "common/json/json.h"
#include "common/net/tls/identity.h"
#include "controller/app/controller.h"
#include "controller/app/current_nodes.h"
#include "controller/app/shared_watch.h"
#include "controller/console/console.h"
#include "controller/kube/issuer.h"
#include "controller/nodes/nodes.h"
#include "controller/store/store.h"

namespace longshore::app {

// All references must outlive the console.
struct ClusterConsoleContext {
  store::Store& store;
  kube::Issuer& issuer;
  std::shared_ptr<tls::Identities> tls;
  const Clock& clock;
  const MonotonicClock& timer;
  std::function<std::string()> holder;  // The holder of the Lease; "" if it is not known. Called on any thread.
};

// Thread-safe.
class ClusterConsole {
 public:
  // Models are served whether or not people can look at them: if a listener cannot start, this is only logged.
  ClusterConsole(const ClusterOptions& options, const ClusterConsoleContext& context);

  // Begins a term with the nodes of the registry, or ends it with nullptr. The registry must outlive the term.
  void Lead(const nodes::Views* nodes) { nodes_.Set(nodes); }
  // To be called after each change of an object, from the watch of the store.
  void Notice(const api::Key& key) { store_.Notice(key); }

  // The ports in use: {"console": N, "consoleService": N}; fewer without these listeners.
  Json ports() const;

 private:
  Result<console::Person> Identify(std::string_view authorization) const;
  std::string Standby() const;

  const ClusterConsoleContext context_;
  const ConsoleServiceOptions service_;
  CurrentNodes nodes_;
  SharedWatch store_;
  std::unique_ptr<console::Console> console_;  // Last: it uses the other members. Null if it could not start.
};

}  // namespace longshore::app
