// Reads the inputs given on the command line: .npy files, or the JSON of a REST prediction.
#pragma once

#include "serving-node/engine/engine.h"
#include "serving-node/inspect/options.h"

namespace longshore::inspect {

struct Inputs {
  std::string signature;
  engine::TensorMap tensors;
};

// Returns the signature given on the command line, or serving_default.
std::string SignatureOf(const Options& options);

// Returns the signature with this name; InvalidArgument, which lists the existing signatures, if there is none.
Result<const tensorflow::SignatureDef*> FindSignature(const engine::Signatures& signatures, const std::string& name);

// Returns the array of a .npy file as the input `name` of the signature. `where` is the name of the file. Errors as for
// ReadInputs.
Result<tensor::Tensor> ParseInput(std::string_view npy, const std::string& where, const std::string& name,
                                  const tensorflow::SignatureDef& signature);

// Returns InvalidArgument if an input has the wrong name or type. The message names the file, the input, and the
// expected and the given type and shape. Shapes are not checked, because the graph decides which ones are valid.
Result<Inputs> ReadInputs(const Options& options, const engine::LoadedModel& model);

// Returns a sentence for each input whose shape is not one that the signature states, to explain the error of a run; ""
// if there is none.
std::string OtherShapes(const engine::TensorMap& inputs, const tensorflow::SignatureDef& signature);

}  // namespace longshore::inspect
