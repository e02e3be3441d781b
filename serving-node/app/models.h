// What a node tells about its models: why it is not ready, its gauges, JSON.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "common/json/json.h"
#include "common/metrics/metrics.h"
#include "serving-node/batching/batching.h"
#include "serving-node/frontend/admin_server.h"
#include "serving-node/models/model_store.h"
#include "serving-node/profiling/recorder.h"

namespace longshore::app {

// "model "digits": no version is available (version 3 is loading)", for each wanted model of which none can answer.
std::vector<std::string> Unavailable(const models::ModelStore& store);

Json ModelsToJson(const models::ModelStore& store);
Json LoadToJson(const batching::Load& load);

// What the admin listener does with recordings: of a model that the node knows.
frontend::ProfileSources ProfileSourcesOf(const models::ModelStore& store, profiling::Recorder& recorder);

// longshore_version_state, _version_memory_bytes, _running, _queued, _run_slots, _run_busy_seconds_total, set before
// each scrape. The registry must not be read after store and admission are gone.
void ExportModelGauges(const models::ModelStore& store, const batching::Admission& admission,
                       metrics::Registry& registry);

}  // namespace longshore::app
