// The components that answer the requests of a node, from the engine to the router, without the listeners.
#pragma once

#include <atomic>
#include <memory>

#include "common/base/clock.h"
#include "common/metrics/metrics.h"
#include "common/storage/storage.h"
#include "serving-node/app/flags/flags.h"
#include "serving-node/app/security.h"
#include "serving-node/app/traces.h"
#include "serving-node/batching/batching.h"
#include "serving-node/engine/engine.h"
#include "serving-node/evidence/pairs.h"
#include "serving-node/evidence/recorder.h"
#include "serving-node/frontend/fleet_catalog.h"
#include "serving-node/frontend/grpc_services.h"
#include "serving-node/frontend/in_flight.h"
#include "serving-node/frontend/metered.h"
#include "serving-node/frontend/oip/methods.h"
#include "serving-node/frontend/store_catalog.h"
#include "serving-node/golden_set/golden_runs.h"
#include "serving-node/golden_set/golden_thread.h"
#include "serving-node/identity/node_identity.h"
#include "serving-node/models/model_store.h"
#include "serving-node/observe/profiling/recorder.h"
#include "serving-node/observe/replay/capture.h"
#include "serving-node/observe/requestlog/request_log.h"
#include "serving-node/rehearsal/gate.h"
#include "serving-node/routing/forwarder.h"
#include "serving-node/routing/guard.h"
#include "serving-node/routing/origin_search.h"
#include "serving-node/routing/router.h"
#include "serving-node/routing/run_meter.h"
#include "serving-node/routing/run_statistics.h"
#include "serving-node/sources/sources.h"

namespace longshore::app {

// The order of declaration matters: a member outlives those declared after it, so that their callbacks can still use
// it.
struct Components {
  SystemClock clock;
  SteadyClock timer;
  metrics::Registry registry;
  Traces traces;  // Outlives the requests, whose spans it takes.
  std::unique_ptr<engine::Engine> engine;
  profiling::Recorder profiles{clock, timer};
  std::unique_ptr<batching::Admission> admission;
  evidence::Recorder recorder;
  storage::WriteHealth desired_state_health{"desired_state"};
  std::unique_ptr<rehearsal::Journal> journal;  // Journal, gate and sources: only on a managed node.
  std::unique_ptr<rehearsal::Gate> gate;
  std::unique_ptr<sources::Sources> sources;
  std::unique_ptr<identity::NodeIdentity> identity;  // Only in a cluster. Null: nodes talk in plain text.
  std::unique_ptr<routing::GuardBook> guards;
  std::unique_ptr<frontend::RequestMeter> requests;  // Both meters outlive the store, which reports unloaded versions.
  std::unique_ptr<routing::RunMeter> runs;
  std::unique_ptr<routing::RunStatistics> statistics;
  std::unique_ptr<models::LoadMeter> loads;
  std::unique_ptr<models::ModelStore> store;
  std::unique_ptr<routing::OriginSearch> origins;
  std::unique_ptr<replay::Capture> capture;             // Null: failed requests are not captured.
  std::unique_ptr<frontend::StoreCatalog> own_catalog;  // The models of this node, for peers.
  evidence::PairRunner pairs;
  std::unique_ptr<golden_set::GoldenRuns> golden_runs;      // Only on a managed node.
  std::unique_ptr<golden_set::GoldenThread> golden_thread;  // Only on a managed node.
  std::unique_ptr<frontend::InFlight> in_flight;            // Counts the requests of all listeners together.
  std::unique_ptr<requestlog::RequestLog> request_log;
  std::unique_ptr<routing::Predictor> predictor;        // The router with the request log, for clients.
  std::unique_ptr<frontend::FleetCatalog> catalog;      // The models of the fleet, for clients.
  std::unique_ptr<frontend::HomeCatalog> home_catalog;  // The same, for nodes that use this one as a home node.
  std::unique_ptr<routing::Router> router;        // Its destructor waits for requests, which use the members above.
  std::unique_ptr<routing::Forwarder> forwarder;  // Destroyed before the router; cancels the requests at peers.
  frontend::ReloadFunction reload;                // Only on a standalone node; set before the listeners open.
  std::atomic<bool> serving = false;              // Whether all models can answer.
  // The Open Inference Protocol, which AddOip sets before the listeners open.
  std::unique_ptr<frontend::oip::Repository> repository;
  std::unique_ptr<frontend::oip::Methods> oip;
  std::unique_ptr<storage::Storage> storage;  // Destroyed first: writes parts of the members above again.
};

// Creates all components. on_change is called on other threads until the components are destroyed.
Result<std::unique_ptr<Components>> BuildComponents(const flags::Flags& flags, const Security& security,
                                                    models::OnChange on_change);

// Adds the Open Inference Protocol, without which no listener for clients can open.
void AddOip(const flags::Flags& flags, std::unique_ptr<frontend::oip::Repository> repository, Components* components);

}  // namespace longshore::app
