// Signatures that one run can compute together, as TensorFlow Serving's MultiInference does: their only input,
// "inputs", is a tensor of serialized tf.Examples, and no name of their outputs contains "/". Such a run feeds all of
// them with the same examples, and names the outputs of each signature SIGNATURE/OUTPUT. The part after the last "/" is
// the output, so two outputs never have the same name:
//
//   RunRequest{.signature = "regress_x", .inputs = {{"inputs", examples}},
//              .outputs = {"regress_x/outputs", "classify_x/classes", "classify_x/scores"}}
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "serving-node/engine/engine.h"
#include "tensorflow/saved_model.pb.h"

namespace longshore::engine {

inline constexpr const char* kExamplesInput = "inputs";

// The beginning of the error message for an output that the signature does not have.
inline constexpr std::string_view kNoSuchOutput = "output tensor alias not found in signature: ";
// Returns InvalidArgument with the text of TensorFlow Serving.
Error NoSuchOutput(const tensorflow::SignatureDef& signature, const std::string& name);

// The name of an output in a run of several signatures: "classify_x/scores".
std::string OutputOf(std::string_view signature, std::string_view output);

// Returns whether one run can compute both signatures.
bool MayRunTogether(const tensorflow::SignatureDef& a, const tensorflow::SignatureDef& b);

// An output in a run of several signatures.
struct OutputTogether {
  const tensorflow::TensorInfo* examples = nullptr;  // The input of the signature that has the output.
  const tensorflow::TensorInfo* info = nullptr;
};

// Returns the output that `name` is OutputOf, if its signature may run together with `signature`; otherwise nullopt.
// The pointers are valid as long as `all`.
std::optional<OutputTogether> FindTogether(const Signatures& all, const tensorflow::SignatureDef& signature,
                                           const std::string& name);

// Returns whether a request to `signature` for these outputs asks for a run of several signatures. If any name is an
// output of `signature` itself, all of them are.
bool AskTogether(const Signatures& all, const tensorflow::SignatureDef& signature,
                 const std::vector<std::string>& names);

// Returns all signatures that may run together as one: its outputs are those of all, and its inputs are their tensors
// of examples, under the names that these have in the graph. nullopt if there are fewer than two.
std::optional<tensorflow::SignatureDef> MergedSignature(const Signatures& all);

}  // namespace longshore::engine
