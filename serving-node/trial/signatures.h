// Whether a new version still takes the requests that clients send to the one that serves.
#pragma once

#include <string>

#include "tensorflow/saved_model.pb.h"

namespace longshore::trial {

using Signatures = google::protobuf::Map<std::string, tensorflow::SignatureDef>;

// Why a request that stable takes would fail at the candidate; "" when none would. A signature or an output may not
// vanish, a type may not change, an input may not come or go (but with a default) nor take fewer shapes: `signature
// "serving_default": input "x" takes float [-1,3] where stable takes float [-1,2]`.
std::string SignatureChange(const Signatures& stable, const Signatures& candidate);

}  // namespace longshore::trial
