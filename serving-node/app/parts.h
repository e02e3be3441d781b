// What answers the requests of a node, from the engine to the router, without where they come from.
#pragma once

#include <memory>

#include "common/clock.h"
#include "common/metrics/metrics.h"
#include "serving-node/app/flags.h"
#include "serving-node/app/security.h"
#include "serving-node/batching/batching.h"
#include "serving-node/engine/engine.h"
#include "serving-node/evidence/drift.h"
#include "serving-node/evidence/recorder.h"
#include "serving-node/frontend/fleet_catalog.h"
#include "serving-node/frontend/grpc_services.h"
#include "serving-node/frontend/in_flight.h"
#include "serving-node/frontend/metered.h"
#include "serving-node/frontend/store_catalog.h"
#include "serving-node/identity/node_identity.h"
#include "serving-node/models/model_store.h"
#include "serving-node/profiling/recorder.h"
#include "serving-node/replay/capture.h"
#include "serving-node/requestlog/request_log.h"
#include "serving-node/routing/forwarder.h"
#include "serving-node/routing/guard.h"
#include "serving-node/routing/origin_search.h"
#include "serving-node/routing/router.h"
#include "serving-node/routing/run_meter.h"
#include "serving-node/sources/sources.h"
#include "serving-node/trial/gate.h"

namespace longshore::app {

// What is declared first outlives what follows: every callback of what ends finds what it calls.
struct Parts {
  SystemClock clock;
  SteadyClock timer;
  metrics::Registry registry;
  std::unique_ptr<engine::Engine> engine;
  profiling::Recorder profiles{clock, timer};
  std::unique_ptr<batching::Admission> admission;
  evidence::Recorder recorder;
  std::unique_ptr<trial::Journal> journal;  // Journal and gate: of a managed node only.
  std::unique_ptr<trial::Gate> gate;
  std::unique_ptr<sources::Sources> sources;         // As these two.
  std::unique_ptr<identity::NodeIdentity> identity;  // Of a node of a cluster; null: hops are in plain text.
  std::unique_ptr<routing::GuardBook> guards;
  std::unique_ptr<frontend::RequestMeter> requests;  // Both meters outlive the store, which tells them what has left.
  std::unique_ptr<routing::RunMeter> runs;
  std::unique_ptr<models::LoadMeter> loads;
  std::unique_ptr<models::ModelStore> store;
  std::unique_ptr<routing::OriginSearch> origins;
  std::unique_ptr<replay::Capture> capture;             // Null: nothing is captured.
  std::unique_ptr<frontend::StoreCatalog> own_catalog;  // What peers are told.
  evidence::DriftSampler drift;
  std::unique_ptr<frontend::InFlight> in_flight;  // Of all doors together.
  std::unique_ptr<requestlog::RequestLog> request_log;
  std::unique_ptr<routing::Predictor> predictor;        // The same, with the log: what clients see.
  std::unique_ptr<frontend::FleetCatalog> catalog;      // What clients are told.
  std::unique_ptr<frontend::HomeCatalog> home_catalog;  // What nodes are told that ask this one as a home.
  std::unique_ptr<routing::Router> router;              // Waits for its requests, with all that they use still there.
  std::unique_ptr<routing::Forwarder> forwarder;        // Ends first: it cuts what is at peers.
  frontend::ReloadFunction reload;                      // Of a node that is alone; set before the doors open.
};

// on_change is called on other threads from now on, until the parts are gone.
Result<std::unique_ptr<Parts>> BuildParts(const Flags& flags, const Security& security, models::OnChange on_change);

}  // namespace longshore::app
