// Reports about the models of a node: why it is not ready, metrics, and JSON for the admin port.
#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/json/json.h"
#include "common/metrics/metrics.h"
#include "common/storage/storage.h"
#include "serving-node/batching/batching.h"
#include "serving-node/frontend/admin_server.h"
#include "serving-node/models/model_store.h"
#include "serving-node/observe/profiling/recorder.h"

namespace longshore::app {

// Returns a line like `model "digits": no version is available (version 3 is being loaded)` for each wanted model
// without an available version.
std::vector<std::string> Unavailable(const models::ModelStore& store);

Json ModelsToJson(const models::ModelStore& store);
Json LoadToJson(const batching::Load& load);
// Returns the messages of all parts that cannot be written, by part.
Json ProblemsToJson(const storage::Storage& storage);

// The functions with which the admin port starts and returns profiling recordings. The start function returns NotFound
// for an unknown model.
frontend::ProfileSources ProfileSourcesOf(const models::ModelStore& store, profiling::Recorder& recorder);

// Exports longshore_version_state, _version_memory_bytes, _running, _queued, _run_slots and _run_busy_seconds_total,
// updated before each scrape. The registry must not be read after the store or the admission is destroyed.
void ExportModelGauges(const models::ModelStore& store, const batching::Admission& admission,
                       metrics::Registry& registry);

}  // namespace longshore::app
