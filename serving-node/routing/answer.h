// Builds the PredictAnswer that frontends expect from the result of a run or from the response of a peer.
#pragma once

#include "serving-node/routing/predict.h"

namespace longshore::routing {

// Returns the answer for the outputs of a run of this version on this node.
PredictAnswer AnswerOf(const tensorflow::serving::ModelSpec& asked, int64_t version, engine::TensorMap outputs);

// Returns the answer that a peer sent. It names the version that the peer ran. This is not the requested version if the
// peer returned the answer of the stable version instead.
PredictAnswer AnswerOf(const tensorflow::serving::ModelSpec& asked, Pieces serialized_response);

// Returns true if no floating-point output holds NaN or Inf. False also if a peer's response cannot be parsed.
bool IsFinite(const PredictAnswer& answer);

}  // namespace longshore::routing
