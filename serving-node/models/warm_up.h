// Warm-up: replays the requests that a version brings along, so that its first client does not wait for it.
#pragma once

#include "common/error.h"
#include "common/file.h"
#include "serving-node/engine/engine.h"

namespace longshore::models {

inline constexpr size_t kWarmUpRecordsMax = 1000;

// Runs every record of <version_dir>/assets.extra/tf_serving_warmup_requests (TFRecord of PredictionLog) `iterations`
// times, on the calling thread, and returns their number; without the file 0. Errors, which fail the load as in
// TensorFlow Serving: DataLoss for a damaged file, InvalidArgument for too many or unreadable records, Unimplemented
// for other logs than predict, and what a record's run fails with; each names the record.
Result<size_t> WarmUp(engine::LoadedModel& model, const Path& version_dir, int iterations);

}  // namespace longshore::models
