// Answers of this node's runs and of peers, as the frontends take them.
#pragma once

#include <string>

#include "serving-node/routing/predict.h"

namespace longshore::routing {

// Of a run of this version here.
PredictAnswer AnswerOf(const tensorflow::serving::ModelSpec& asked, int64_t version, engine::TensorMap outputs);

// Of a peer. It names the version that it ran, which is another than it was asked for when it gave stable's answer.
PredictAnswer AnswerOf(const tensorflow::serving::ModelSpec& asked, std::string serialized_response);

// Whether no float output is NaN or Inf. A peer's answer that cannot be read is not known to be finite.
bool IsFinite(const PredictAnswer& answer);

}  // namespace longshore::routing
