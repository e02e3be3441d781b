// What a recorded request runs, whichever call it was.
#pragma once

#include <functional>
#include <vector>

#include "common/error.h"
#include "serving-node/engine/engine.h"
#include "tensorflow_serving/prediction_log.pb.h"

namespace longshore::models {

struct RecordedRequest {
  engine::RunRequest run;
  // Whether the outputs would have made an answer.
  std::function<Status(const engine::TensorMap&)> check;
};

// One for a predict, classify or regress log, one per task for a multi_inference log. Unimplemented for others;
// InvalidArgument for a request that the call would refuse.
Result<std::vector<RecordedRequest>> RecordedRequests(
    const tensorflow::serving::PredictionLog& log,
    const google::protobuf::Map<std::string, tensorflow::SignatureDef>& signatures);

}  // namespace longshore::models
