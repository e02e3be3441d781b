// Warm-up: runs a version before its first client does, so that no client waits for what a first run has to do.
#pragma once

#include <vector>

#include "common/error.h"
#include "common/file.h"
#include "serving-node/engine/engine.h"

namespace longshore::models {

inline constexpr size_t kWarmUpRecordsMax = 1000;

struct WarmUpOptions {
  int iterations = 1;              // How often each recorded request is replayed.
  std::vector<int> batch_sizes{};  // The rows that batches are padded to; empty: they are not padded.
};

// Replays every record of <version_dir>/assets.extra/tf_serving_warmup_requests (TFRecord of PredictionLog). Without
// that file, and for batch sizes that are padded to also with it, runs what can be made up from the signatures
// (synthetic_request.h); what fails of that is logged and fails nothing. Computes on the calling thread, at its
// priority, where the engine can. Returns how many records there were.
//
// Errors, which fail the load as in TensorFlow Serving: DataLoss for a damaged file, InvalidArgument for too many or
// unreadable records, Unimplemented for logs of session_run and predict_streamed, and what a record's run fails with;
// each names the record.
Result<size_t> WarmUp(engine::LoadedModel& model, const Path& version_dir, const WarmUpOptions& options);

}  // namespace longshore::models
