// Converts recorded requests of any API into runs of the model.
#pragma once

#include <functional>
#include <vector>

#include "common/base/error.h"
#include "serving-node/engine/engine.h"
#include "tensorflow_serving/prediction_log.pb.h"

namespace longshore::models {

struct RecordedRequest {
  engine::RunRequest run;
  // Returns ok if the outputs can be converted into the answer of the recorded API.
  std::function<Status(const engine::TensorMap&)> check;
};

// Returns one request for a predict, classify or regress log, and for a multi_inference log one for all tasks, or one
// per task if they cannot run together. Unimplemented for other logs; InvalidArgument for a request that the API would
// reject.
Result<std::vector<RecordedRequest>> RecordedRequests(const tensorflow::serving::PredictionLog& log,
                                                      const engine::Signatures& signatures);

}  // namespace longshore::models
