// A fast parser for the most common prediction body: one numeric input, in row or columnar form.
//
//   {"instances": [[0.5, 1.0], [2.0, 3.0]]}   {"inputs": [[0.5, 1.0], [2.0, 3.0]], "signature_name": "s"}
//
// It reads the text once, directly into the tensor, and reports no errors: a body that it cannot handle is left to
// PredictionFromJson. If it succeeds, its result must equal that of PredictionFromJson. It needs memory for the tensor
// only; the index that fast JSON libraries build would be several times as large as the text.
#pragma once

#include <optional>
#include <string_view>

#include "serving-node/frontend/json/request.h"

namespace longshore::frontend::json {

// Returns nullopt if PredictionFromJson must read the body, for example because it has more than elements_max elements.
std::optional<Prediction> NumbersFromJson(std::string_view body, const FindSignature& find_signature,
                                          size_t elements_max = Budget().elements_max);

// Reads the number that begins at `at` as a float or a double, with the result of a JsonReader and a conversion of its
// number to T. Returns the position after it; nullptr if the text there is not a number, or one that only a JsonReader
// can read. Requires that before `end` a byte follows that cannot be part of a number.
template <typename T>
const char* TakeReal(const char* at, const char* end, T* value);

}  // namespace longshore::frontend::json
