// Signatures that one run can compute together, as TensorFlow Serving's MultiInference does: their only input,
// "inputs", is a tensor of serialized tf.Examples. Such a run feeds all of them with the same examples, and names the
// outputs of each signature SIGNATURE/OUTPUT:
//
//   RunRequest{.signature = "regress_x", .inputs = {{"inputs", examples}},
//              .outputs = {"regress_x/outputs", "classify_x/classes", "classify_x/scores"}}
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensorflow/saved_model.pb.h"

namespace longshore::engine {

inline constexpr const char* kExamplesInput = "inputs";

// The name of an output in a run of several signatures: "classify_x/scores".
std::string OutputOf(std::string_view signature, std::string_view output);

// Returns whether one run can compute both signatures.
bool MayRunTogether(const tensorflow::SignatureDef& a, const tensorflow::SignatureDef& b);

// Returns whether `name` is OutputOf a signature that may run together with `signature`, and of one of its outputs.
bool IsOutputTogether(const google::protobuf::Map<std::string, tensorflow::SignatureDef>& all,
                      const tensorflow::SignatureDef& signature, const std::string& name);

// Returns all signatures that may run together as one: its outputs are those of all, and its inputs are their tensors
// of examples, under the names that these have in the graph. nullopt if there are fewer than two.
std::optional<tensorflow::SignatureDef> MergedSignature(
    const google::protobuf::Map<std::string, tensorflow::SignatureDef>& all);

}  // namespace longshore::engine
