// Warm-up: runs a version before it serves, so that no client has to wait for the one-time work of a first run.
#pragma once

#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "serving-node/engine/engine.h"

namespace longshore::models {

inline constexpr size_t kWarmUpRecordsMax = 1000;

struct WarmUpOptions {
  int iterations = 1;              // How often each recorded request is replayed.
  std::vector<int> batch_sizes{};  // The sizes to which batches are padded; empty: no padding.
};

// Replays every record of <version_dir>/assets.extra/tf_serving_warmup_requests (TFRecord of PredictionLog). Without
// that file, or if there are batch_sizes, also runs requests generated from the signatures (synthetic_request.h) for
// every batch size, except of TensorFlow's internal signatures; their failures are only logged, in one line for each
// signature. Computes on the calling thread, at its priority, if the engine
// supports that. Returns the number of records.
//
// Errors, which fail the load as in TensorFlow Serving: DataLoss for a damaged file, InvalidArgument for too many or
// unreadable records, Unimplemented for logs of session_run and predict_streamed, or the error of a record's run. Each
// error message names the record.
Result<size_t> WarmUp(engine::LoadedModel& model, const Path& version_dir, const WarmUpOptions& options);

}  // namespace longshore::models
