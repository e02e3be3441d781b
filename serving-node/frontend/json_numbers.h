// The quick way through the common body of a prediction: one input of numbers, as rows or as columns.
//
//   {"instances": [[0.5, 1.0], [2.0, 3.0]]}   {"inputs": [[0.5, 1.0], [2.0, 3.0]], "signature_name": "s"}
//
// It reads the text once, straight into the tensor, and has no errors of its own: whatever it does not know or does not
// like, it leaves to PredictRequestFromJson, whose answer it must never differ from. It holds nothing but the tensor;
// an index of the text, as quick libraries make one, would be several times the text.
#pragma once

#include <optional>
#include <string_view>

#include "serving-node/frontend/json_request.h"

namespace longshore::frontend {

// Fills signature name and input of the request. nullopt, and the request as it was, for what is to be read the other
// way, as are more than elements_max elements.
std::optional<JsonForm> NumbersFromJson(std::string_view body, const FindSignature& find_signature,
                                        tensorflow::serving::PredictRequest* request,
                                        size_t elements_max = Budget().elements_max);

}  // namespace longshore::frontend
