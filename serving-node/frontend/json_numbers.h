// The quick way through the common body of a prediction: one input of numbers, as rows or as columns.
//
//   {"instances": [[0.5, 1.0], [2.0, 3.0]]}   {"inputs": [[0.5, 1.0], [2.0, 3.0]], "signature_name": "s"}
//
// It reads with simdjson and has no errors of its own: whatever it does not know or does not like, it leaves to
// PredictRequestFromJson, whose answer it must never differ from.
#pragma once

#include <optional>
#include <string>

#include "serving-node/frontend/json_request.h"

namespace longshore::frontend {

// Fills signature name and input of the request. nullopt, and the request as it was, for what is to be read the other
// way. Grows the body by the room behind its end that simdjson reads ahead.
std::optional<JsonForm> NumbersFromJson(std::string* body, const FindSignature& find_signature,
                                        tensorflow::serving::PredictRequest* request);

}  // namespace longshore::frontend
